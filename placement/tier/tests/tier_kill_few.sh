#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tier_kill.sh with a few kills, for `make test`.
KILLS=${KILLS:-16} exec sh "${0%_few.sh}.sh"
