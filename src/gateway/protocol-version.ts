/** The protocol that a `Git-Protocol` header asks for, as one of the three values that are passed on: the highest that it names. */
export function protocolVersion(header: string | string[] | undefined): "" | "version=1" | "version=2" {
  const asked = [header ?? []].flat().join(":").split(":");
  if (asked.includes("version=2")) return "version=2";
  return asked.includes("version=1") ? "version=1" : "";
}
