#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An inventory from a plain file: LOCUS_HOSTS=file ansible-playbook -i inventory/from_file.py ...

    # name   address      variables
    *                     locus_commit=3f2a... ansible_user=admin
    bm1      10.0.0.11    locus_isolated_cpus=2-31
    bm2      10.0.0.12    ansible_port=2222

A line is a host: its name in the record, its address, and variables. The line "*" is for all hosts. Values may be quoted as in a
shell; a value that begins with { or [ is JSON. All hosts are in the group "runners". Passwords are refused, because such a file
is shared sooner or later.
"""

import json
import os
import re
import shlex
import sys

NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]*')
VARIABLE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
SECRET = re.compile(r'pass(word|phrase)?$|secret|token', re.IGNORECASE)


class Bad(Exception):
    pass


def variables(words):
    found = {}
    for word in words:
        key, equals, value = word.partition('=')
        if not equals or not VARIABLE.fullmatch(key):
            raise Bad('"%s" is not key=value' % word)
        if SECRET.search(key):
            raise Bad('%s does not belong in a file: use a key and ssh-agent, or --ask-become-pass' % key)
        found[key] = json.loads(value) if value[:1] in ('[', '{') else value
    return found


def understood(text):
    """All hosts' variables, and those of each by its name."""
    common, hosts = {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if words[0] == '*':
                common.update(variables(words[1:]))
                continue
            if not NAME.fullmatch(words[0]):
                raise Bad('"%s" is not a host\'s name: use letters, digits, dots, dashes and underscores' % words[0])
            if words[0] in hosts:
                raise Bad('%s is there twice' % words[0])
            if len(words) < 2 or '=' in words[1]:
                raise Bad('%s has no address: NAME ADDRESS [KEY=VALUE...]' % words[0])
            hosts[words[0]] = dict(variables(words[2:]), ansible_host=words[1])
        except (Bad, ValueError) as error:
            raise Bad('%d: %s' % (number, error))
    if not hosts:
        raise Bad(' it names no host')
    return common, hosts


def main():
    path = os.environ.get('LOCUS_HOSTS')
    if not path:
        sys.exit('LOCUS_HOSTS is not a file: LOCUS_HOSTS=hosts.txt ansible-playbook -i inventory/from_file.py ...')
    try:
        with open(path, encoding='utf-8') as file:
            common, hosts = understood(file.read())
    except Bad as error:
        sys.exit('%s:%s' % (path, error))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit('%s: %s' % (path, getattr(error, 'strerror', None) or error))
    if sys.argv[1:2] == ['--host']:
        print(json.dumps(dict(common, **hosts.get(sys.argv[2], {})), indent=1))
    else:
        print(json.dumps({'runners': {'hosts': list(hosts), 'vars': common}, '_meta': {'hostvars': hosts}}, indent=1))


if __name__ == '__main__':
    main()
