"""tools/disassembly.py: reads objdump's listing and follows thread-derived values through it.

These values are thread-derived:
 - what is read relative to %fs (except the stack protector's word at 0x28) or from tpidr_el0;
 - what __errno_location, __tls_get_addr, pthread_self and the TLS descriptors return;
 - copies of these values, and addresses computed from them;
 - a value that is read through the address of a thread-local variable (level 1). A value that is
   read through such a value in turn does not count.

A register that is read after a switch, and was not written since, has the value that the other side
of the switch left there. Such reads are found as well (level 0).
"""
import collections
import re
import subprocess

THREAD_CALLS = re.compile(r"__errno_location|__tls_get_addr|pthread_self|TLSDESC_CALL")
ELF_AARCH64 = bytes([183, 0])
# Level of a fact: the thread pointer and addresses computed from it; a value read through such an
# address; what a switch left in a register.
ADDRESS, VALUE, LEFT = 2, 1, 0

# level, the instruction it comes from, whether a switch lies between
Fact = collections.namedtuple("Fact", "level origin crossed")


class Instruction:
    def __init__(self, address, text, refers_to):
        self.address, self.text, self.relocation = address, text, ""
        self.refers_to = refers_to      # the address in objdump's comment
        bare = re.sub(r"^((data16|rex\.W|notrack|bnd|lock|rep[nz]*) )+", "", text)
        self.name, _, rest = bare.partition(" ")
        self.operands = [o.strip() for o in re.split(r",(?![^(\[{]*[)\]}])", rest.strip())
                         if o.strip()]

    def __str__(self):
        return f"{self.address:x} `{self.text}`"

    def target(self):
        match = re.search(r"\b([0-9a-f]+) <", self.text)
        return int(match.group(1), 16) if match else None


class Function:
    def __init__(self, name):
        self.name, self.code = name, []


class State:
    """Facts by place: a register, or ("slot", offset from sp at entry); and where sp and fp are."""

    def __init__(self, facts=(), sp=0, fp=None, away=False):
        self.facts, self.sp, self.fp, self.away = dict(facts), sp, fp, away

    def copy(self):
        return State(self.facts, self.sp, self.fp, self.away)

    def merge(self, other):
        """Adds the facts of `other`; True if one of them was new."""
        news = False
        for place, fact in other.facts.items():
            mine = self.facts.get(place)
            if mine is None or (fact.level, fact.crossed) > (mine.level, mine.crossed):
                self.facts[place] = fact
                news = True
        return news

    def set(self, place, fact):
        if fact:
            self.facts[place] = fact
        else:
            self.facts.pop(place, None)


def strongest(facts):
    return max((f for f in facts if f), key=lambda f: (f.level, f.crossed), default=None)


def through(fact):
    """What a read through an address with this fact yields."""
    return Fact(VALUE, fact.origin, fact.crossed) if fact and fact.level == ADDRESS else None


class Machine:
    """What the walk must know about an instruction set; subclasses define it."""

    def is_thread_call(self, ins):
        return bool(THREAD_CALLS.search(ins.text + ins.relocation))

    def after_call(self, ins, state):
        for register in self.caller_saved:
            state.facts.pop(register, None)
        if self.is_thread_call(ins):
            state.facts[self.result] = Fact(ADDRESS, str(ins), False)

    def after_switch(self, ins, state):
        """Back on this stack: sp, fp and the stack slots are as before, other registers are not."""
        state.away = False
        kept = {p: f._replace(crossed=True) for p, f in state.facts.items()
                if isinstance(p, tuple) or p == self.frame_pointer}
        state.facts = {r: Fact(LEFT, str(ins), True) for r in self.registers}
        state.facts.update(kept)


def complaint(ins, fact):
    if fact.level == LEFT:
        return f"{ins}: reads a register that was not written since the switch {fact.origin}"
    return f"{ins}: reads a value that {fact.origin} got from the thread before the switch"


def stale_uses(function, machine):
    """Complaints: reads after a switch of thread-derived values from before the switch."""
    index = {ins.address: i for i, ins in enumerate(function.code)}
    states, complaints, work = {0: State()}, {}, [0]
    while work:
        i = work.pop()
        ins, state = function.code[i], states[i].copy()
        for fact in machine.step(ins, state):
            if fact.crossed:
                complaints[ins.address] = complaint(ins, fact)
        if machine.is_indirect_jump(ins) and state.away:
            machine.after_switch(ins, state)
        following = [] if machine.ends(ins) else [i + 1]
        if machine.is_branch(ins) and not ins.relocation and ins.target() in index:
            following.append(index[ins.target()])
        for n in following:
            if n < len(function.code) and (n not in states or states[n].merge(state)):
                states.setdefault(n, state.copy())
                work.append(n)
    return [complaints[a] for a in sorted(complaints)]


def read(path):
    """(functions, machine) of an object file."""
    from disassembly_machines import Aarch64, X86  # noqa: E402 (they need this module)
    with open(path, "rb") as file:
        arm = file.read(20)[18:] == ELF_AARCH64
    tool = "aarch64-linux-gnu-objdump" if arm else "objdump"
    listing = subprocess.run([tool, "-dr", "--no-show-raw-insn", str(path)], check=True,
                             capture_output=True, text=True).stdout
    return list(parse(listing)), Aarch64() if arm else X86()


def parse(listing):
    function = None
    for line in listing.split("\n"):
        if match := re.match(r"[0-9a-f]+ <([^>]+)>:$", line):
            if function:
                yield function
            function = Function(match.group(1))
        elif match := re.match(r"\s+[0-9a-f]+: (R_\w+\s.*)", line):
            function.code[-1].relocation = match.group(1)
        elif function and (match := re.match(r"\s+([0-9a-f]+):\t(.*)", line)):
            text = re.sub(r"\s+", " ", re.sub(r"\s*(# |//).*", "", match.group(2))).strip()
            comment = re.search(r"# ([0-9a-f]+) <", match.group(2))
            refers_to = int(comment.group(1), 16) if comment else None
            function.code.append(Instruction(int(match.group(1), 16), text, refers_to))
    if function:
        yield function
