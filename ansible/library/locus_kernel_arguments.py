#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Sets arguments on the kernel's command line by a GRUB drop-in, and reports whether a boot is due.

GRUB's configuration is made from /etc/default/grub and then /etc/default/grub.d/*.cfg, so a file there adds arguments, and
removing it undoes that; the operator's files are not edited. The result is read back, because a later file may
set the line again. The arguments take effect at the next boot, which is reported as due.
"""

DOCUMENTATION = r'''
---
module: locus_kernel_arguments
short_description: Add arguments to the kernel's command line by GRUB, or remove them
version_added: '0.1.0'
description:
  - Writes I(drop_in), regenerates GRUB's configuration, and reads it back. Never boots.
  - Arguments of the same name from elsewhere are an error, because it is unclear which would take effect.
options:
  arguments:
    description: The arguments, separated by blanks. None removes I(drop_in).
    type: str
    default: ''
  drop_in:
    description: The file that adds them.
    type: path
    default: /etc/default/grub.d/locus.cfg
  config:
    description: The file that GRUB reads at boot.
    type: path
    default: /boot/grub/grub.cfg
  running:
    description: The running kernel's command line.
    type: path
    default: /proc/cmdline
author:
  - The LOCUS authors
'''

EXAMPLES = r'''
- name: Keep CPUs 2 to 7 free
  locus_kernel_arguments:
    arguments: isolcpus=managed_irq,domain,2-7 nohz_full=2-7 rcu_nocbs=2-7
'''

RETURN = r'''
boot_due:
  description: The kernel that runs was started with other arguments.
  returned: success
  type: bool
'''

import os

from ansible.module_utils.basic import AnsibleModule

NAMES = ('isolcpus', 'nohz_full', 'rcu_nocbs')  # looked for when none are wanted


def read(path):
    try:
        with open(path, encoding='utf-8', errors='surrogateescape') as file:
            return file.read()
    except OSError:
        return ''


def write(module, path, text):
    """Replaces the file as a whole; no text: removes it."""
    try:
        if not text:
            os.unlink(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(path + '.new', path)
    except OSError as error:
        module.fail_json(msg='%s cannot be written: %s' % (path, error.strerror))


def named(words):
    """Those words that are one of ours."""
    return set(word for word in words if word.split('=', 1)[0] in NAMES)


def offered(config):
    """Ours on the command lines that GRUB offers to start."""
    return named(word for line in config.splitlines() if line.split()[:1] == ['linux'] for word in line.split())


def make_config(module, wanted):
    """None, or what is wrong with what was made."""
    status, out, err = module.run_command([module.get_bin_path('update-grub', required=True)])
    if status != 0:
        return 'update-grub: %s' % ((err or out).strip() or 'exit %d' % status)
    found = offered(read(module.params['config']))
    if found != wanted:
        return '%s has %s after update-grub, and "%s" was wanted: another file of /etc/default/grub.d sets the line' % (
            module.params['config'], ' '.join(sorted(found)) or 'nothing of it', module.params['arguments'])
    return None


def refuse(module, before, config):
    """What is in the way of arguments here."""
    params = module.params
    if not before and config:
        module.fail_json(msg='%s already has %s, but not from %s: leave locus_isolated_cpus empty here'
                         % (params['config'], ' '.join(sorted(config)), params['drop_in']))
    if not module.get_bin_path('update-grub'):
        module.fail_json(msg='update-grub is not there, so GRUB does not boot this host: put %s on its command line in another '
                             'way, and leave locus_isolated_cpus empty' % params['arguments'])


def change(module, before, after, wanted):
    drop_in = module.params['drop_in']
    if before != after:
        write(module, drop_in, after)
    trouble = make_config(module, wanted)
    if trouble:
        write(module, drop_in, before)  # so that a later call tries again
        module.fail_json(msg=trouble)


def main():
    module = AnsibleModule(supports_check_mode=True, argument_spec={
        'arguments': {'type': 'str', 'default': ''},
        'drop_in': {'type': 'path', 'default': '/etc/default/grub.d/locus.cfg'},
        'config': {'type': 'path', 'default': '/boot/grub/grub.cfg'},
        'running': {'type': 'path', 'default': '/proc/cmdline'},
    })
    params = module.params
    wanted, after = set(params['arguments'].split()), ''
    before, config = read(params['drop_in']), offered(read(params['config']))
    if wanted:
        refuse(module, before, config)
        after = ('# Made by Ansible (LOCUS, role tune); restore.yml takes it away.\n'
                 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT %s"\n' % params['arguments'])
    changed = before != after or bool(before) and config != wanted
    if changed and not module.check_mode:
        change(module, before, after, wanted)
    target = wanted if before or after else config
    due = os.path.exists(params['config']) and named(read(params['running']).split()) != target
    module.exit_json(changed=changed, boot_due=due, diff={
        'before_header': params['drop_in'], 'after_header': params['drop_in'], 'before': before, 'after': after})


if __name__ == '__main__':
    main()
