# SPDX-License-Identifier: Apache-2.0
"""The texts of the rules by the token of the rule; what is found and what it may save is told by the C core."""

from . import copies, devices, launches, training
from .message import Message

MESSAGES: dict[str, Message] = launches.MESSAGES | copies.MESSAGES | training.MESSAGES | devices.MESSAGES
