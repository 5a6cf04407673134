#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""A host's record, brought home: listed on the host, staged and filed on the control host.

What is at home already may grow, and nothing else: no file may vanish, shrink or begin otherwise. What comes is looked at as a
whole before anything of the record changes: each file has the SHA-256 that it had on the host, and `locus verify` agrees, also with
the checkpoint that was kept from the last time. Then the new folder and the old one change places in one step, so that whoever
reads the record sees either of them, and a disk that is full or a machine that stops leaves the old one. The checkpoint follows;
should it not, the older one still holds.
"""

DOCUMENTATION = r'''
---
module: locus_record
short_description: List, stage and file a host's record
version_added: '0.1.0'
description:
  - C(listed), on the host, tells all files of its record with their SHA-256.
  - C(staged), on the control host, prepares a folder for them, puts there what the record has already, and tells what is missing.
  - C(filed) verifies that folder and makes it the record.
  - In check mode nothing is written, and C(staged) says what would come.
options:
  state:
    description: What to do.
    type: str
    choices: [listed, staged, filed]
    required: true
  record:
    description: The folder in which the host's folder is, C(logs) in a checkout.
    type: path
    required: true
  host:
    description: The host's name in the record.
    type: str
    required: true
  files:
    description: What C(listed) told.
    type: dict
    default: {}
  stage:
    description: A folder on the file system of I(record), in which the host's folder is prepared.
    type: path
  program:
    description: The program C(locus) that verifies, for C(filed).
    type: path
  checkpoints:
    description: The folder with a file for each host, for C(filed). It is made when it is not there.
    type: path
author:
  - The LOCUS authors
'''

EXAMPLES = r'''
- name: List the record
  locus_record:
    state: listed
    record: /opt/locus/logs
    host: bm1
'''

RETURN = r'''
files:
  description: Of C(listed), the SHA-256 and the size of each file.
  returned: success
  type: dict
  sample: {ledger.jsonl: {sha256: 0f1e, bytes: 1234}}
missing:
  description: Of C(staged), the files that have to be fetched.
  returned: success
  type: list
  elements: str
runs:
  description: Of C(filed), how many runs there are, and how many of them are sealed.
  returned: success
  type: dict
  sample: {runs: 3, sealed: 2}
crashed:
  description: Of C(filed), the runs that have no seal, each with its log.
  returned: success
  type: list
  elements: str
checkpoint:
  description: Of C(filed), what was kept.
  returned: success
  type: str
'''

import ctypes
import hashlib
import json
import os
import shutil
import stat

from ansible.module_utils.basic import AnsibleModule

LEDGER = 'ledger.jsonl'


class Refused(Exception):
    """What to tell the operator."""


def digest(path):
    total = hashlib.sha256()
    with open(path, 'rb') as file:
        for part in iter(lambda: file.read(1 << 20), b''):
            total.update(part)
    return total.hexdigest()


def is_kept(folder, name):
    """perf's raw data stay where they were made; git does not keep them either."""
    return not (folder.endswith('.perf') and name.endswith('.data'))


def files_of(folder):
    """The files below a folder, by their path in it."""
    found = []
    for where, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(where, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and is_kept(where, name):
                found.append(os.path.relpath(path, folder))
            elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise Refused('%s is neither a file nor a folder: nobody but `locus run` writes there' % path)
    return sorted(found)


def listed(record):
    return {name: {'sha256': digest(os.path.join(record, name)), 'bytes': os.path.getsize(os.path.join(record, name))}
            for name in files_of(record)}


# --- staging -------------------------------------------------------------------------------------------------------------------


def check_growth(record, host, files):
    """What can be said before anything is fetched."""
    for name in files_of(record):
        here = os.path.getsize(os.path.join(record, name))
        if name not in files:
            raise Refused('%s/%s is here, and %s has it no more: somebody took it away there' % (host, name, host))
        if files[name]['bytes'] < here:
            raise Refused('%s/%s has %d bytes on %s and had %d: what was written is never taken back' % (
                host, name, files[name]['bytes'], host, here))


def check_names(files):
    for name in files:
        if os.path.isabs(name) or '..' in name.split('/') or os.path.normpath(name) != name:
            raise Refused('"%s" is no name of a file in a record' % name)


def staged(record, host, stage, files, check_mode):
    check_names(files)
    check_growth(record, host, files)
    missing = []
    if not check_mode:
        shutil.rmtree(stage, ignore_errors=True)
        os.makedirs(stage)
    for name, wanted in sorted(files.items()):
        here = os.path.join(record, name)
        if not os.path.exists(here) or digest(here) != wanted['sha256']:
            missing.append(name)
        elif not check_mode:
            os.makedirs(os.path.dirname(os.path.join(stage, name)), exist_ok=True)
            shutil.copy2(here, os.path.join(stage, name))
    return missing


# --- filing --------------------------------------------------------------------------------------------------------------------


def check_sums(stage, host, files):
    if sorted(files) != files_of(stage):
        raise Refused('%s: not all that was listed arrived' % host)
    for name, wanted in files.items():
        if digest(os.path.join(stage, name)) != wanted['sha256']:
            raise Refused('%s/%s is not what was listed on the host: is a run still writing? Collect again when it has ended' % (
                host, name))


def check_beginnings(record, stage, host):
    for name in files_of(record):
        with open(os.path.join(record, name), 'rb') as old, open(os.path.join(stage, name), 'rb') as new:
            for part in iter(lambda: old.read(1 << 20), b''):
                if new.read(len(part)) != part:
                    raise Refused('%s/%s does not begin with what is here: it was written anew on %s' % (host, name, host))


def verify(module, stage, host, checkpoint):
    """The host's part of what `locus verify --json` says."""
    command = [module.params['program'], 'verify', '--json', '--host', host, '--root', os.path.dirname(stage)]
    if os.path.exists(checkpoint):
        command += ['--checkpoint', checkpoint]
    status, out, err = module.run_command(command, cwd=os.path.dirname(module.params['record']))
    try:
        report = json.loads(out)
        findings, told = report['findings'], report['hosts'][0]
    except (ValueError, KeyError, IndexError):
        raise Refused('%s cannot be verified: %s' % (host, (err or out).strip() or 'exit %d' % status))
    if findings or status != 0:
        raise Refused('%s is refused: %s' % (host, '; '.join(
            '%s:%d: %s (witness: %s)' % (plain(each['file'], stage), each['line'], plain(each['what'], stage), each['witness'])
            for each in findings)))
    return told


def plain(text, stage):
    return text.replace(os.path.dirname(stage) + '/', '')


def sync(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exchange(stage, record):
    """The new folder takes the old one's place, which is then in the stage."""
    for where, folders, names in os.walk(stage):
        for name in names:
            sync(os.path.join(where, name))
        sync(where)
    os.makedirs(os.path.dirname(record), exist_ok=True)
    if not os.path.exists(record):
        os.rename(stage, record)
    else:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(-100, os.fsencode(stage), -100, os.fsencode(record), 2):  # AT_FDCWD, RENAME_EXCHANGE
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), record)
        shutil.rmtree(stage)
    sync(os.path.dirname(record))


def keep(checkpoint, line):
    os.makedirs(os.path.dirname(checkpoint), exist_ok=True)
    with open(checkpoint + '.new', 'w', encoding='utf-8') as file:
        file.write(line + '\n')
        file.flush()
        os.fsync(file.fileno())
    os.rename(checkpoint + '.new', checkpoint)


def content(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read().strip()
    except FileNotFoundError:
        return ''


def filed(module, record, host, stage, files):
    checkpoint = os.path.join(module.params['checkpoints'], host)
    check_sums(stage, host, files)
    check_beginnings(record, stage, host)
    told = verify(module, stage, host, checkpoint)
    changed = listed(record) != files
    if changed:
        exchange(stage, record)
    else:
        shutil.rmtree(stage)
    try:
        if content(checkpoint) != told['checkpoint']:
            keep(checkpoint, told['checkpoint'])
    except OSError as error:
        raise Refused('%s is home, but its checkpoint is not kept: %s: %s. Collect again when that is put right' % (
            host, error.filename, error.strerror))
    module.exit_json(changed=changed, checkpoint=told['checkpoint'], runs={'runs': told['runs'], 'sealed': told['sealed']},
                     crashed=['run %s has no seal: %s' % (each['run'], plain(each['log'], stage)) for each in told['crashed']])


def main():
    module = AnsibleModule(supports_check_mode=True, argument_spec={
        'state': {'type': 'str', 'choices': ['listed', 'staged', 'filed'], 'required': True},
        'record': {'type': 'path', 'required': True}, 'host': {'type': 'str', 'required': True},
        'files': {'type': 'dict', 'default': {}}, 'stage': {'type': 'path'}, 'program': {'type': 'path'},
        'checkpoints': {'type': 'path'},
    }, required_if=[('state', 'staged', ['stage']), ('state', 'filed', ['stage', 'program', 'checkpoints'])])
    state, host, files = module.params['state'], module.params['host'], module.params['files']
    record = os.path.join(module.params['record'], host)
    try:
        if state == 'listed':
            module.exit_json(changed=False, files=listed(record))
        stage = os.path.join(module.params['stage'], host)
        if state == 'staged':
            missing = staged(record, host, stage, files, module.check_mode)
            module.exit_json(changed=module.check_mode and bool(missing), missing=missing)
        filed(module, record, host, stage, files)
    except Refused as refused:
        module.fail_json(msg=str(refused))
    except OSError as error:
        module.fail_json(msg='%s: %s. The record is as it was' % (error.filename, error.strerror))


if __name__ == '__main__':
    main()
