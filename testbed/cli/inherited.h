// SPDX-License-Identifier: Apache-2.0
//
// inherited: what a process gets from whoever started it.
#ifndef TB_INHERITED_H
#define TB_INHERITED_H

// Puts right what would spoil a run or silence its errors. First thing in main(), while there is one thread.
void tb_inherited_settle(void);

#endif
