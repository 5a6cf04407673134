#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Runs a command once per key, such as a build per commit.

A file has the last key and the last line that the command printed. Its existence alone, as with `creates`, is not enough:
after A, B and A again it would be B's. It is removed before the command starts, so a command that fails or is killed has not run.
"""

DOCUMENTATION = r'''
---
module: locus_once
short_description: Run a command unless it already succeeded for this key
version_added: '0.1.0'
description:
  - Runs I(command) unless I(marker) has the same I(key) and command, and writes both there on success.
  - In check mode it runs nothing, and reports whether it would.
options:
  command:
    description: The command, split as by a shell, but run without one.
    type: str
    required: true
  chdir:
    description: The folder in which it runs.
    type: path
    required: true
  marker:
    description: The file that remembers the key; relative to I(chdir). Its folder is created if necessary.
    type: path
    required: true
  key:
    description: The key, such as a commit.
    type: str
    required: true
author:
  - The LOCUS authors
'''

EXAMPLES = r'''
- name: Build
  locus_once:
    command: make all
    chdir: /opt/locus
    marker: build/fleet-built
    key: 0123456789abcdef0123456789abcdef01234567
'''

RETURN = r'''
said:
  description: The last line that the command printed, now or when it ran.
  returned: success
  type: str
  sample: 1200 passed, 0 failed, 3 skipped
'''

import os
import shlex

from ansible.module_utils.basic import AnsibleModule


def read(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def last_line(text):
    return (text.strip().splitlines() or [''])[-1]


def run(module, chdir, marker):
    if os.path.exists(marker):
        os.unlink(marker)
    status, out, err = module.run_command(shlex.split(module.params['command']), cwd=chdir)
    if status != 0:
        module.fail_json(msg='%s, in %s: exit %d. Its last lines: %s' % (
            module.params['command'], chdir, status, '\n'.join((out + err).strip().splitlines()[-20:])))
    return last_line(out)


def write(module, marker, text):
    try:
        os.makedirs(os.path.dirname(marker), exist_ok=True)
        with open(marker, 'w', encoding='utf-8') as file:
            file.write(text)
    except OSError as error:
        module.fail_json(msg='%s cannot be written: %s' % (marker, error.strerror))


def main():
    module = AnsibleModule(supports_check_mode=True, argument_spec={
        'command': {'type': 'str', 'required': True}, 'chdir': {'type': 'path', 'required': True},
        'marker': {'type': 'path', 'required': True}, 'key': {'type': 'str', 'required': True, 'no_log': False},
    })
    chdir = module.params['chdir']
    marker = os.path.join(chdir, module.params['marker'])
    before = read(marker)
    head = '%s: %s\n' % (module.params['key'], module.params['command'])
    if before.startswith(head):
        module.exit_json(changed=False, said=last_line(before[len(head):]))
    said = ''
    if not module.check_mode:
        said = run(module, chdir, marker)
        write(module, marker, head + said + '\n')
    module.exit_json(changed=True, said=said, diff={'before_header': marker, 'after_header': marker,
                                                    'before': before, 'after': head + (said + '\n' if said else '')})


if __name__ == '__main__':
    main()
