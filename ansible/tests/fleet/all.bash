#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# all.bash: what `make test-fleet` runs: the tests of the playbooks and nothing else, one for each CPU at a time. `make test` has
# them, too. Ends with "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/../../.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN
. testbed/tests/items.bash

mkdir -p "$out"
for script in ansible/tests/*.sh; do item free "script ansible/$(basename "$script" .sh)" script "$script" 600; done
items_run
items_end
