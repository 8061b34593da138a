"""tools/disassembly_machines.py: the two instruction sets, for tools/disassembly.py."""
import re

from disassembly import ADDRESS, VALUE, Fact, Machine, strongest, through

# %eax and %al are %rax, and so on.
NARROW = {}
for wide in ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"]:
    NARROW.update({f"r{wide}": f"r{wide}", f"e{wide}": f"r{wide}", wide: f"r{wide}"})
for wide in "abcd":
    NARROW[f"{wide}l"] = f"r{wide}x"
for number in range(8, 16):
    NARROW.update({f"r{number}{suffix}": f"r{number}" for suffix in ["", "d", "w", "b"]})
for number in range(16):
    NARROW[f"xmm{number}"] = f"xmm{number}"


class X86(Machine):
    """x86-64 in AT&T order: the destination comes last."""
    frame_pointer, result = "rbp", "rax"
    registers = sorted(set(NARROW.values()) - {"rsp", "rbp"})
    caller_saved = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"] + \
        [f"xmm{n}" for n in range(16)]
    NO_RESULT = re.compile(r"cmp|test|ucomi|comi|j|nop|endbr|ud2|hlt|ldmxcsr|fldcw|bt")

    def register(self, operand):
        return NARROW.get(operand.lstrip("%*"))

    def memory(self, operand):
        """(segment, displacement, [registers]) or None."""
        match = re.match(r"\*?(?:%(\w+):)?(-?(?:0x)?[0-9a-f]*)(?:\(([^)]*)\))?$", operand)
        if not match or operand.startswith(("$", "%r", "%e", "%x")):
            return None
        inner = [self.register(r) for r in (match.group(3) or "").split(",") if "%" in r]
        return match.group(1), int(match.group(2) or "0", 16), [r for r in inner if r]

    def slot(self, operand, state):
        mem = self.memory(operand)
        if not mem or mem[0] or len(mem[2]) != 1:
            return None
        base = {"rsp": state.sp, "rbp": state.fp}.get(mem[2][0])
        return None if base is None else ("slot", base + mem[1])

    def fact(self, operand, ins, state):
        """What is known about the value of this source operand."""
        mem = self.memory(operand)
        if mem is None:
            return state.facts.get(self.register(operand))
        segment, offset, registers = mem
        if segment == "fs":
            if not registers and offset == 0x28:
                return None
            return Fact(VALUE if registers or offset else ADDRESS, str(ins), False)
        place = self.slot(operand, state)
        if place:
            return state.facts.get(place)
        return through(strongest(state.facts.get(r) for r in registers))

    def step(self, ins, state):
        """Applies ins to state; yields the facts that ins reads."""
        ops = ins.operands
        if ins.name.startswith("call"):
            self.after_call(ins, state)
            return []
        if ins.name.startswith(("push", "pop", "leave")) or "%rsp" in ops[-1:]:
            return self.step_stack(ins, state)
        if not ops or state.away:
            return []
        addresses = [state.facts.get(r) for o in ops for r in (self.memory(o) or (0, 0, []))[2]]
        if ins.name.startswith("lea"):
            facts = addresses
        else:
            facts = [self.fact(o, ins, state) for o in self.sources(ins)]
        if not self.NO_RESULT.match(ins.name):
            self.write(ops[-1], strongest(facts), ins, state)
        return [f for f in facts + addresses if f]

    def sources(self, ins):
        ops = ins.operands
        if ins.name.startswith(("xor", "pxor", "sbb")) and len(ops) == 2 and ops[0] == ops[1]:
            return []                   # zero, or the carry: the old value does not matter
        if self.NO_RESULT.match(ins.name):
            return ops
        copies = ins.name.startswith(("mov", "set", "stmxcsr", "fnstcw", "cvt", "sqrt"))
        return ops[:-1] if copies or len(ops) == 3 else ops

    def write(self, operand, fact, ins, state):
        place = self.register(operand) or self.slot(operand, state)
        if place == "rbp":
            state.fp = state.sp if ins.operands[0] == "%rsp" else None
        if place:
            state.set(place, fact)

    def step_stack(self, ins, state):
        ops = ins.operands
        if ins.name.startswith("push"):
            state.sp -= 8
            fact = self.fact(ops[0], ins, state)
            state.set(("slot", state.sp), fact)
            return [fact] if fact else []
        if ins.name.startswith("pop"):
            fact = state.facts.get(("slot", state.sp))
            state.sp += 8
            self.write(ops[0], fact, ins, state)
            return [fact] if fact else []
        amount = re.match(r"\$(-?0x[0-9a-f]+|-?\d+)$", ops[0]) if ops else None
        if ins.name.startswith(("sub", "add")) and amount:
            value = int(amount.group(1), 0)
            state.sp += -value if ins.name.startswith("sub") else value
        elif ins.name == "leave":
            state.sp, state.fp = (state.fp or 0) + 8, None
        elif self.moves_sp(ins):
            state.away = True
        elif ins.name.startswith("lea"):
            place = self.slot(ops[0], state)
            state.sp = place[1] if place else state.sp
        elif ops[0] == "%rbp" and state.fp is not None:
            state.sp = state.fp
        return []

    def moves_sp(self, ins):
        return ins.name.startswith(("mov", "xchg")) and len(ins.operands) == 2 and \
            ins.operands[1] == "%rsp" and ins.operands[0] != "%rbp"

    def reads_sp(self, ins):
        return ins.name.startswith("mov") and ins.operands[0] == "%rsp"

    def touches_stack(self, ins):
        return ins.name.startswith(("push", "pop", "call", "ret", "leave", "enter"))

    def takes_address(self, ins, address):
        return ins.name.startswith("lea") and ins.refers_to == address

    def is_landing_pad(self, ins):
        return ins.name == "endbr64"

    def is_indirect_jump(self, ins):
        return ins.name.startswith(("jmp", "notrack")) and "*" in ins.text

    def is_branch(self, ins):
        return ins.name.startswith("j")

    def is_return(self, ins):
        return ins.name.startswith(("ret", "repz"))

    def ends(self, ins):
        """True if no instruction follows. After the jump of a switch the next instruction follows,
        when another context switches back."""
        return self.is_return(ins) or ins.name == "ud2" or \
            ins.name.startswith("jmp") and "*" not in ins.text


class Aarch64(Machine):
    frame_pointer, result = "x29", "x0"
    registers = [f"x{n}" for n in range(31) if n != 29] + [f"v{n}" for n in range(32)]
    caller_saved = [f"x{n}" for n in range(19)] + ["x30"] + \
        [f"v{n}" for n in range(32) if not 8 <= n < 16]
    STORES = ("str", "stp", "stur")
    NO_RESULT = re.compile(r"cmp|cmn|tst|fcmp|b|cb|tb|ret|hint|nop|msr|brk|dmb|prfm|pac|aut|ud")

    def register(self, operand):
        match = re.fullmatch(r"([xwbhsdqv])(\d+)(?:\.\w+)?", operand)
        return ("x" if match.group(1) in "xw" else "v") + match.group(2) if match else None

    def memory(self, ins):
        """(base, offset or None, index, what is added to base before, after) of the operand."""
        match = re.search(r"\[(\w+)(?:, (?:#(-?\d+)|(\w+)[^]]*))?\](!)?(?:, #(-?\d+))?", ins.text)
        if not match:
            return None
        base, offset, index, pre, post = match.groups()
        offset = None if index else int(offset or "0")
        return base, offset, index, offset if pre else 0, int(post or "0")

    def slots(self, mem, state, count):
        start = {"sp": state.sp, "x29": state.fp}.get(mem[0])
        if start is None or mem[1] is None:
            return [None] * count
        return [("slot", start + mem[1] + 8 * i) for i in range(count)]

    def step(self, ins, state):
        if ins.name in ("bl", "blr"):
            self.after_call(ins, state)
            return []
        if self.moves_sp(ins):
            state.away = True
        if state.away:
            return []
        if ins.name == "mrs":
            thread = "tpidr_el0" in ins.text
            state.set(self.register(ins.operands[0]),
                      Fact(ADDRESS, str(ins), False) if thread else None)
            return []
        if mem := self.memory(ins):
            return self.step_memory(ins, mem, state)
        return self.step_plain(ins, state)

    def step_memory(self, ins, mem, state):
        registers = [self.register(o) for o in ins.operands if "[" not in o and o[0] not in "#!"]
        places = self.slots(mem, state, len(registers))
        address = strongest(state.facts.get(r) for r in (mem[0], mem[2]) if r)
        facts = [address] if address else []
        for register, place in zip(registers, places):
            if ins.name.startswith(self.STORES):
                fact = state.facts.get(register)
                if place:
                    state.set(place, fact)
            else:
                fact = state.facts.get(place) if place else through(address)
                if register:
                    state.set(register, fact)
            facts += [fact] if fact else []
        if mem[0] == "sp":
            state.sp += mem[3] + mem[4]
        return facts

    def step_plain(self, ins, state):
        ops = ins.operands
        if ins.name in ("add", "sub", "mov") and ops[:1] == ["sp"]:
            self.adjust_sp(ins, state)
            return []
        keeps = self.NO_RESULT.match(ins.name)
        facts = [state.facts.get(self.register(o)) for o in (ops if keeps else ops[1:])]
        facts = [f for f in facts if f]
        if not keeps and ops:
            if ops[0] == "x29":
                state.fp = state.sp if ops[1:] == ["sp"] else None
            state.set(self.register(ops[0]), strongest(facts))
        return facts

    def adjust_sp(self, ins, state):
        amount = re.search(r"#(0x[0-9a-f]+|\d+)", ins.text)
        if ins.operands[1] == "x29" and state.fp is not None:
            state.sp = state.fp
        if amount:
            value = int(amount.group(1), 0)
            state.sp += value if ins.name == "add" else -value

    def moves_sp(self, ins):
        return ins.name == "mov" and ins.operands[0] == "sp" and ins.operands[1] != "x29"

    def reads_sp(self, ins):
        return ins.name == "mov" and ins.operands[1:] == ["sp"] and ins.operands[0] != "x29"

    def touches_stack(self, ins):
        return ins.name in ("bl", "blr", "ret") or bool(re.search(r"\[sp", ins.text))

    def takes_address(self, ins, address):
        return ins.name == "adr" and ins.target() == address

    def is_landing_pad(self, ins):
        return ins.text in ("bti j", "bti jc", "hint #0x24", "hint #0x26")

    def is_indirect_jump(self, ins):
        return ins.name in ("br", "braa", "brab", "braaz", "brabz")

    def is_branch(self, ins):
        return ins.name.startswith(("b.", "cb", "tb")) or ins.name == "b"

    def is_return(self, ins):
        return ins.name.startswith("ret")

    def ends(self, ins):
        return self.is_return(ins) or ins.name in ("b", "brk", "udf")
