import type { Interceptor } from "../server-call.ts";

/** Names this node in every response. */
export function nodeName(name: string): Interceptor {
  return (call, next) => {
    call.header.set("gitaly-node", name);
    return next();
  };
}
