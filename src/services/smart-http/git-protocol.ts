/** The protocol a request asks for, where it is one git knows; anything else means the oldest, as git itself takes it. */
export function gitProtocol(asked: string): string {
  return asked === "version=1" || asked === "version=2" ? asked : "";
}
