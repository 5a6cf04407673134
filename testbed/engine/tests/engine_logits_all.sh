#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# engine_logits.sh with every size, and with 256 steps.
all_sizes=yes
. "$(dirname "$0")/engine_logits.sh"
