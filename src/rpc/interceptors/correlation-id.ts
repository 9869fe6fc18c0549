import { type Random, randomHex } from "../../base/index.ts";
import { type Interceptor, metadataText } from "../server-call.ts";

const key = "x-gitlab-correlation-id";

/** Keeps the correlation id that the client sent, or makes one, and answers with it. */
export function correlationId(random: Random): Interceptor {
  return (call, next) => {
    const given = metadataText(call.metadata, key);
    call.correlationId = given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomHex(random, 16);
    call.header.set(key, call.correlationId);
    return next();
  };
}
