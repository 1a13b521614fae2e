"""gdb commands for a program that uses Consort, or its core dump:  (gdb) source tools/gdb/consort.py

  consort-tasks [NUMBER]    the unfinished tasks of each runtime, or of runtime NUMBER: state, name, priority, group, data

Reads memory alone: it calls nothing, so it works on a core, on a hung process, and on a library without debugging
information. The library tells by its symbol consort_debug where things lie."""
import gdb

MODES = [(1, 'R'), (2, 'W'), (4, 'SCRATCH'), (8, 'REDUX'), (16, 'COMMUTE')]
GUARD = 1 << 30


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def word(address, size=8):
    return int.from_bytes(read(address, size), 'little')


def c_string(address, most=200):
    text = b''
    while address and len(text) < most:
        byte = read(address + len(text), 1)
        if byte == b'\0':
            break
        text += byte
    return text.decode('utf8', 'replace')


def string(address):
    """A std::string: its characters, their number."""
    return read(word(address), min(word(address + 8), 200)).decode('utf8', 'replace')


class Library:
    def __init__(self):
        symbol = gdb.lookup_minimal_symbol('consort_debug') if hasattr(gdb, 'lookup_minimal_symbol') else None
        try:
            table = int(symbol.value().address) if symbol else int(gdb.parse_and_eval('(unsigned long)&consort_debug'))
        except gdb.error:
            raise gdb.GdbError('no symbol consort_debug: the program does not use Consort, or has not loaded libconsort yet')
        if not gdb.selected_inferior().pid and not gdb.selected_inferior().threads():
            raise gdb.GdbError('there is neither a process nor a core to look at')
        if word(table, 4) != 2:
            raise gdb.GdbError('this libconsort is of another version than consort.py: take the file beside its sources')
        self.shells, self.nshells = word(word(table + 8)), word(table + 16)
        self.at, entry = {}, word(table + 24)
        while read(entry, 1) != b'\0':
            self.at[c_string(entry, 28)] = word(entry + 28, 4)
            entry += 32

    def runtimes(self):
        if not self.shells:
            return
        size, state = self.at['shell.size'], self.at['shell.state']
        shells = read(self.shells, size * self.nshells)
        for i in range(0, size * self.nshells, size):
            runtime = int.from_bytes(shells[i + state:i + state + 8], 'little') & ~self.at['shell.phase']
            if runtime:
                yield runtime

    def datum_name(self, public):
        datum = public - self.at['datum.pub']
        extra = word(datum + self.at['datum.extra'])
        name = string(extra + self.at['datum_extra.name']) if extra else ''
        number = word(public, 8) & 0xffffffff
        return name or f"{string(word(datum + self.at['datum.layout']) + self.at['layout.name'])}#{number}"

    def running(self, runtime):
        threads = runtime + self.at['runtime.threads']
        for i in range(word(runtime + self.at['runtime.nthreads'], 4)):
            thread = word(threads + 8 * i)
            if thread:
                yield word(thread + self.at['thread.task'])

    def tasks(self, runtime):
        """(state, id, name, priority, group, data) of each unfinished task."""
        at, size = self.at, self.at['task.size']
        base, carved = word(runtime + at['runtime.tasks']), word(runtime + at['runtime.carved'], 4)
        running = set(self.running(runtime))
        for number in range(1, carved):
            t = base + number * size
            name = word(t + at['task.id'])
            if name != (word(t + at['task.word']) >> 32) << 32 | number:
                continue  # a free record: its last name is dead
            kind, left = word(t + at['task.kind'], 1), word(t + at['task.pending']) & 0xffffffff
            if kind == at['kind.gate']:
                continue
            if t in running:
                state = 'running'
            elif kind == at['kind.hold'] and left == 0:
                state = 'held by the application'
            elif left == 0 or left >= GUARD:
                state = 'ready'
            else:
                state = f'waits for {left}'
            codelet, extra, group = (word(t + at[f'task.{what}']) for what in ('codelet', 'extra', 'group'))
            own = word(extra + at['extra.name']) if extra else 0
            label = c_string(own) if own else string(codelet + at['codelet.name']) if codelet else '-'
            data, access = [], word(t + at['task.access'])
            for i in range(word(t + at['task.naccess'], 2)):
                mode = word(access + 16 * i + 8, 4)
                data.append(self.datum_name(word(access + 16 * i)) + ' ' +
                            ('RW' if mode & 3 == 3 and not mode & 0x1c else '|'.join(n for b, n in MODES if mode & b)))
            priority = int.from_bytes(read(t + at['task.priority'], 4), 'little', signed=True)
            yield state, name, label, priority, string(group + at['group.name']) if group else '-', ', '.join(data)


class ConsortTasks(gdb.Command):
    """consort-tasks [NUMBER]: the unfinished tasks of each runtime of the process, or of runtime NUMBER."""

    def __init__(self):
        super().__init__('consort-tasks', gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if argument and not argument.isdigit():
            raise gdb.GdbError('consort-tasks takes the number of a runtime, or nothing')
        library, found = Library(), False
        for runtime in library.runtimes():
            number = word(runtime + library.at['runtime.number'])
            if argument and number != int(argument):
                continue
            found = True
            rows = [('STATE', 'TASK', 'NAME', 'PRIORITY', 'GROUP', 'DATA')]
            rows += [(s, f'#{i}', n, str(p), g, d) for s, i, n, p, g, d in library.tasks(runtime)]
            print(f'runtime #{number}: {len(rows) - 1} unfinished tasks')
            widths = [max(len(row[c]) for row in rows) for c in range(6)]
            for row in rows if len(rows) > 1 else ():
                print('  ' + '  '.join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip())
        if not found:
            print(f'no runtime #{argument} is alive' if argument else 'no runtime is alive')


ConsortTasks()
