import type { ByteString } from "../../base/index.ts";

/** A step of a compiled glob; a name is matched by walking the steps as a set of states, so no pattern takes exponential time. */
type Step =
  | { readonly kind: "byte"; readonly value: ByteString }
  | { readonly kind: "class"; readonly test: (byte: ByteString) => boolean }
  /** Any run of bytes without a slash. */
  | { readonly kind: "star" }
  /** Any run of bytes. */
  | { readonly kind: "globstar" }
  /** Takes no byte; the two steps behind it may be left out. */
  | { readonly kind: "optional" };

const posixClasses: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what the class means
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[\x21-\x7e]/,
  lower: /[a-z]/,
  print: /[\x20-\x7e]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t-\r]/,
  upper: /[A-Z]/,
  xdigit: /[A-Fa-f0-9]/,
};

/** The part of a glob before its first special byte. */
export function literalPrefix(glob: ByteString): ByteString {
  const end = glob.search(/[*?[\\]/);
  return end === -1 ? glob : glob.slice(0, end);
}

/** Compiles a glob in which only a whole `**` segment crosses slashes. A glob with an unclosed class or a trailing backslash matches nothing. */
export function compileGlob(glob: ByteString): (name: ByteString) => boolean {
  const steps = parse(glob);
  return steps ? matcher(steps) : () => false;
}

function parse(glob: ByteString): Step[] | undefined {
  const steps: Step[] = [];
  let at = 0;
  while (at < glob.length) {
    const byte = glob[at] as string;
    if (byte === "*") {
      let end = at;
      while (glob[end] === "*") end++;
      const wholeSegment = end - at >= 2 && (at === 0 || glob[at - 1] === "/") && (end === glob.length || glob[end] === "/");
      // "**/" also stands for no directory at all: then the slash goes too.
      if (wholeSegment && glob[end] === "/") steps.push({ kind: "optional" });
      steps.push({ kind: wholeSegment ? "globstar" : "star" });
      at = end;
    } else if (byte === "?") {
      steps.push({ kind: "class", test: () => true });
      at++;
    } else if (byte === "[") {
      const parsed = parseClass(glob, at + 1);
      if (!parsed) return undefined;
      steps.push({ kind: "class", test: parsed.test });
      at = parsed.end;
    } else {
      const value = byte === "\\" ? glob[++at] : byte;
      if (value === undefined) return undefined;
      steps.push({ kind: "byte", value });
      at++;
    }
  }
  return steps;
}

function parseClass(glob: ByteString, start: number): { test: (byte: ByteString) => boolean; end: number } | undefined {
  const negated = glob[start] === "!" || glob[start] === "^";
  const tests: ((byte: ByteString) => boolean)[] = [];
  let at = negated ? start + 1 : start;
  const first = at;
  while (glob[at] !== "]" || at === first) {
    const named = /^\[:([^:\]]*):\]/.exec(glob.slice(at, at + 16));
    if (named) {
      const test = posixClasses[named[1] as string];
      if (!test) return undefined;
      tests.push((byte) => test.test(byte));
      at += named[0].length;
      continue;
    }
    if (glob[at] === "\\") at++;
    const low = glob[at++];
    let high = low;
    if (glob[at] === "-" && at + 1 < glob.length && glob[at + 1] !== "]") {
      at++;
      if (glob[at] === "\\") at++;
      high = glob[at++];
    }
    if (low === undefined || high === undefined) return undefined;
    const [from, to] = [low, high];
    tests.push((byte) => byte >= from && byte <= to);
  }
  return { test: (byte) => tests.some((test) => test(byte)) !== negated, end: at + 1 };
}

/** Walks the steps as a set of states; `marks` says in which round a state was reached last. */
function matcher(steps: readonly Step[]): (name: ByteString) => boolean {
  const marks = new Float64Array(steps.length + 1);
  let round = 0;
  let states: number[] = [];

  /** Adds state `at` and those that need no byte more. */
  const reach = (at: number): void => {
    for (let state = at; marks[state] !== round; state++) {
      marks[state] = round;
      states.push(state);
      const kind = steps[state]?.kind;
      if (kind === "optional") reach(state + 3);
      if (kind === undefined || kind === "byte" || kind === "class") return;
    }
  };

  return (name) => {
    round++;
    states = [];
    reach(0);
    for (const byte of name) {
      const before = states;
      round++;
      states = [];
      for (const at of before) {
        const step = steps[at];
        if (!step) continue;
        if (step.kind === "globstar" || (step.kind === "star" && byte !== "/")) reach(at);
        else if (step.kind === "byte" ? step.value === byte : step.kind === "class" && byte !== "/" && step.test(byte)) reach(at + 1);
      }
      if (states.length === 0) return false;
    }
    return marks[steps.length] === round;
  };
}
