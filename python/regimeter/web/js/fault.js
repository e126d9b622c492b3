// SPDX-License-Identifier: Apache-2.0
// A problem with an input file: what is wrong, where, and what the reader can do about it.
(function (app) {
  "use strict";

  class InputFault extends Error {
    constructor(problem, place, remedy) {
      super(problem);
      this.name = "InputFault";
      this.place = place;
      this.remedy = remedy;
    }
  }

  app.InputFault = InputFault;
})((globalThis.regimeter ||= {}));
