/** The arguments of a call that may be written `f(work)` or `f(options, work)`. */
export type OptionsAndWork<O, W> = [work: W] | [options: O, work: W];

/** Tells the two apart; options that are not given are empty. */
export function optionsAndWork<O extends object, W>(args: OptionsAndWork<O, W>): [options: Partial<O>, work: W] {
  return args.length === 1 ? [{}, args[0]] : [args[0], args[1]];
}
