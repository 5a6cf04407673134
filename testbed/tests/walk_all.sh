#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# walk.sh with all cells.
WALK=all exec bash "$(dirname "$0")/walk.sh"
