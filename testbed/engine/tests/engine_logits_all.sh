#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# engine_logits.sh with 256 steps and every size.
all_sizes=yes
. "$(dirname "$0")/engine_logits.sh"
