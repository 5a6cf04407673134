#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Sets kernel files, services and swap for measuring, and restores them exactly.

The snapshot of a host's settings is on disk before the first change. A later call adds the settings that
it is the first to change, and never overwrites any. Each value is read, written if it differs, and read again after all
writes, because a kernel may accept a value but keep another, and because one setting may change another (a governor also changes
its energy preference). Groups are restored in reverse order, but in the given order within a group: SMT, which
was switched off last, has to be on again before its CPUs have files.
"""

DOCUMENTATION = r'''
---
module: locus_settings
short_description: Set kernel files, services and swap, and restore the previous values
version_added: '0.1.0'
description:
  - Reads each setting, records it in I(snapshot), writes it if it differs, and reads it back.
  - It is an error if a setting is missing, or does not read back as written.
  - Settings in I(snapshot) are never overwritten, so it always has the values from before the first call.
options:
  snapshot:
    description: The file with the host's previous settings. Its folder must exist.
    type: path
    required: true
  state:
    description: C(set) makes the settings; C(restored) restores everything in the snapshot, and then removes the snapshot.
    type: str
    choices: [set, restored]
    default: set
  groups:
    description:
      - Settings that belong together, in the order in which to set them. They have the form of the findings of
        C(locus doctor --json), so these can be passed unchanged; other members are ignored.
    type: list
    elements: dict
    default: []
    suboptions:
      id:
        description: A name. All settings with the same name are restored together.
        type: str
        required: true
      knobs:
        description: Files with one value each.
        type: list
        elements: dict
        default: []
        suboptions:
          path:
            description: The file. A list of words with the chosen one in brackets is compared by that word.
            type: path
            required: true
          wanted:
            description: The value; without one the file is only restored, because another setting changes it.
            type: str
  stopped:
    description: systemd services to stop. Those that are not installed are ignored.
    type: list
    elements: str
    default: []
  swap:
    description: C(off) takes all swap away.
    type: str
    choices: ['off', leave]
    default: leave
author:
  - The LOCUS authors
'''

EXAMPLES = r'''
- name: No balancing between nodes
  locus_settings:
    snapshot: /var/lib/locus/snapshot.json
    groups:
      - id: numa-balancing
        knobs:
          - path: /proc/sys/kernel/numa_balancing
            wanted: '0'

- name: As it was
  locus_settings:
    snapshot: /var/lib/locus/snapshot.json
    state: restored
'''

RETURN = r'''
changes:
  description: What was changed, or in check mode would be.
  returned: success
  type: list
  elements: str
  sample: ['/proc/sys/kernel/numa_balancing: 1 -> 0']
'''

import errno
import fcntl
import json
import os
import re

from ansible.module_utils.basic import AnsibleModule


class Trouble(Exception):
    """What to tell the operator."""


def words(error):
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


# --- kinds of settings: read() gives a text and write() takes one ----------------------------------------------------------------


def choice(text):
    """The word in brackets of "always [madvise] never", or the text without the blanks around it."""
    chosen = re.search(r'\[([^]]*)\]', text)
    return (chosen.group(1) if chosen else text).strip()


class Knob:
    """A file with one value."""

    def __init__(self, module, name):
        self.name = name

    def tell(self, text):
        return choice(text) or 'nothing'

    def same(self, one, other):
        return choice(one) == choice(other)

    def read(self):
        with os.fdopen(os.open(self.name, os.O_RDONLY | os.O_NONBLOCK), 'rb') as file:  # a FIFO would wait for a writer
            return file.read().decode('utf-8', 'surrogateescape')

    def write(self, text):
        try:
            self.put(text)
        except OSError as error:
            if error.errno != errno.EINVAL or '[' not in text:
                raise
            self.put(choice(text))  # the kernel shows all words and takes one

    def put(self, text):
        handle = os.open(self.name, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK)
        try:
            os.write(handle, text.encode('utf-8', 'surrogateescape'))  # at once: to the kernel each write is a value
        finally:
            os.close(handle)


class Service:
    """A unit of systemd, running or stopped. Whether it starts with the next boot stays as it is."""

    def __init__(self, module, name):
        self.module, self.unit, self.name = module, name, 'service ' + name

    def tell(self, text):
        return text

    def same(self, one, other):
        return one == other

    def read(self):
        systemctl = self.module.get_bin_path('systemctl')
        if not systemctl:
            return 'stopped'
        state = self.module.run_command([systemctl, 'is-active', self.unit])[1].strip()
        return 'running' if state in ('active', 'activating', 'reloading') else 'stopped'

    def write(self, text):
        run(self.module, 'systemctl', 'start' if text == 'running' else 'stop', self.unit)


class Swap:
    """All swap, a line for each device: priority and name. Where none was given the kernel counts down from -2: "auto"."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def tell(self, text):
        return ', '.join(text.splitlines()) or 'off'

    def same(self, one, other):
        return sorted(one.splitlines()) == sorted(other.splitlines())

    def read(self):
        try:
            with open('/proc/swaps', encoding='utf-8', errors='surrogateescape') as file:
                fields = [line.split() for line in file][1:]
        except FileNotFoundError:
            return ''  # this kernel has no swap
        fields.sort(key=lambda line: -int(line[4]))
        return ''.join('%s %s\n' % (line[4] if int(line[4]) >= 0 else 'auto', line[0]) for line in fields)

    def write(self, text):
        now, wanted = self.read().splitlines(), text.splitlines()
        for line in now:
            if line not in wanted:
                run(self.module, 'swapoff', self.device(line))
        for line in wanted:
            if line not in now:
                priority = line.split(' ')[0]
                run(self.module, 'swapon', *([] if priority == 'auto' else ['-p', priority]), self.device(line))

    def device(self, line):
        """The kernel writes a blank in a name as \\040."""
        return re.sub(r'\\([0-7]{3})', lambda octal: chr(int(octal.group(1), 8)), line.split(' ', 1)[1])


KINDS = {'knob': Knob, 'service': Service, 'swap': Swap}


def run(module, program, *arguments):
    status, out, err = module.run_command([module.get_bin_path(program, required=True)] + list(arguments))
    if status != 0:
        raise Trouble('%s %s: %s' % (program, ' '.join(arguments), (err or out).strip() or 'exit %d' % status))


class Setting:
    """One of them, and what it shall be; None: that it is noted is enough."""

    def __init__(self, module, group, kind, name, wanted):
        self.group, self.kind, self.name, self.wanted = group, kind, name, wanted
        self.thing = KINDS[kind](module, name)

    def read(self):
        try:
            return self.thing.read()
        except OSError as error:
            raise Trouble('%s cannot be read: %s' % (self.thing.name, words(error)))

    def differs(self):
        return self.wanted is not None and not self.thing.same(self.read(), self.wanted)

    def write(self):
        try:
            self.thing.write(self.wanted)
        except OSError as error:
            raise Trouble('%s cannot be written: %s' % (self.thing.name, words(error)))

    def check(self):
        reads = self.read()
        if self.wanted is not None and not self.thing.same(reads, self.wanted):
            raise Trouble('wrote %s to %s, reads %s: it was taken, and another value is kept'
                          % (self.thing.tell(self.wanted), self.thing.name, self.thing.tell(reads)))

    def tell(self):
        try:
            now = self.thing.tell(self.read())
        except Trouble:
            now = 'not there'
        return '%s: %s -> %s' % (self.thing.name, now, self.thing.tell(self.wanted))


# --- the snapshot ----------------------------------------------------------------------------------------------------------------


class Snapshot:
    """A list of {group, kind, name, was} in the order of the first changes. Its folder is locked while it is in use."""

    def __init__(self, path):
        self.path, self.entries, self.folder = path, [], None
        try:
            self.folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self.folder, fcntl.LOCK_EX)
            with open(path, encoding='ascii') as file:
                self.entries = self.understood(json.load(file))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Trouble('%s cannot be read: %s. Nothing was changed.' % (path, words(error)))
        except (ValueError, KeyError, TypeError) as error:
            raise Trouble('%s is damaged (%s). It says what this host was like before it was tuned, and nothing was changed now. '
                          'Repair it; or where all is as it should be, as after a boot, move it away.' % (path, error))

    def understood(self, content):
        if content['version'] != 1:
            raise ValueError('of version %s, and this is for 1' % content['version'])
        for entry in content['settings']:
            if entry['kind'] not in KINDS or not all(isinstance(entry[key], str) for key in ('group', 'name', 'was')):
                raise ValueError('not a setting: %s' % entry)
        return content['settings']

    def note(self, settings):
        """Adds those that it does not know yet; on return they are on the disk."""
        known = set((entry['kind'], entry['name']) for entry in self.entries)
        new = {(one.kind, one.name): one for one in settings if (one.kind, one.name) not in known}.values()
        self.entries += [{'group': one.group, 'kind': one.kind, 'name': one.name, 'was': one.read()} for one in new]
        if new:
            self.save()

    def save(self):
        temporary = self.path + '.new'
        try:
            with open(temporary, 'w', encoding='ascii') as file:
                json.dump({'version': 1, 'settings': self.entries}, file, indent=1)
                file.write('\n')
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, self.path)
            os.fsync(self.folder)
        except OSError as error:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise Trouble('%s cannot be written: %s. Without it this host could not be put back, so nothing was changed.'
                          % (self.path, words(error)))

    def remove(self):
        os.unlink(self.path)
        os.fsync(self.folder)


# --- set and put back ------------------------------------------------------------------------------------------------------------


def asked_for(module):
    for group in module.params['groups']:
        for knob in group.get('knobs') or []:
            wanted = knob.get('wanted')
            if not isinstance(group.get('id'), str) or not isinstance(knob.get('path'), str) or isinstance(wanted, bool):
                raise Trouble('%s of %s: wanted are an id, a path, and a value in quotes' % (knob, group.get('id')))
            yield Setting(module, group['id'], 'knob', knob['path'], None if wanted is None else str(wanted))
    for unit in module.params['stopped']:
        yield Setting(module, unit, 'service', unit, 'stopped')
    if module.params['swap'] == 'off':
        yield Setting(module, 'swap', 'swap', 'swap', '')


def noted(module, snapshot):
    order = list(dict.fromkeys(entry['group'] for entry in snapshot.entries))
    for entry in sorted(snapshot.entries, key=lambda entry: -order.index(entry['group'])):  # within a group the order is kept
        yield Setting(module, entry['group'], entry['kind'], entry['name'], entry['was'])


def due(settings, restoring):
    """Those to be written. What is to be put back may not be there yet, as the files of a CPU that is off."""
    for setting in settings:
        try:
            if setting.differs():
                yield setting
        except Trouble:
            if not restoring:
                raise
            yield setting


def make(settings):
    """Writes what differs, then reads everything. One that fails does not keep the others back; returns what is to be said."""
    trouble = {}
    for act in (lambda one: one.differs() and one.write(), lambda one: one.check()):
        for setting in settings:
            try:
                if setting not in trouble:
                    act(setting)
            except Trouble as error:
                trouble[setting] = str(error)
    return list(trouble.values())


def work(module):
    restoring = module.params['state'] == 'restored'
    snapshot = Snapshot(os.path.abspath(module.params['snapshot']))
    settings = list(noted(module, snapshot) if restoring else asked_for(module))
    changing = list(due(settings, restoring))
    changes = [setting.tell() for setting in changing]
    result = {'changed': bool(changes) or restoring and bool(settings), 'changes': changes,
              'diff': {'prepared': ''.join(line + '\n' for line in changes)}}
    if module.check_mode or not result['changed']:
        return result
    if not restoring:
        groups = set(setting.group for setting in changing)
        snapshot.note([setting for setting in settings if setting.group in groups])
    trouble = make(settings)
    if trouble:
        raise Trouble('%d of %d settings %s: %s' % (
            len(trouble), len(settings), 'are not as they were, and the snapshot is kept' if restoring else 'did not take',
            '; '.join(trouble)))
    if restoring:
        snapshot.remove()
    return result


def main():
    module = AnsibleModule(supports_check_mode=True, argument_spec={
        'snapshot': {'type': 'path', 'required': True},
        'state': {'type': 'str', 'choices': ['set', 'restored'], 'default': 'set'},
        'groups': {'type': 'list', 'elements': 'dict', 'default': []},
        'stopped': {'type': 'list', 'elements': 'str', 'default': []},
        'swap': {'type': 'str', 'choices': ['off', 'leave'], 'default': 'leave'},
    })
    try:
        module.exit_json(**work(module))
    except Trouble as trouble:
        module.fail_json(msg=str(trouble))


if __name__ == '__main__':
    main()
