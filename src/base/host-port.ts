/** HOST:PORT, an IPv6 host in brackets. */
export function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Takes apart what `hostPort` has made; the host is without brackets. Undefined where `text` is not HOST:PORT. */
export function splitHostPort(text: string): { host: string; port: number } | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? undefined : { host, port: Number(digits) };
}
