import { CodedError, parseGoDuration } from "../../base/index.ts";
import { type Interceptor, metadataText } from "../server-call.ts";

const key = "gitaly-max-staleness";
const maxMs = 24 * 3_600_000;

/** Reads how old an answer may be. Errors: `invalid_argument` for what is no duration from 0 to a day. */
export function maxStaleness(): Interceptor {
  return async (call, next) => {
    const text = metadataText(call.metadata, key);
    if (text !== undefined) {
      const ms = parseGoDuration(text);
      if (ms === undefined || ms > maxMs) {
        throw new CodedError("invalid_argument", `metadata ${key} is not a duration like 5s, of at most a day`, {
          value: text.slice(0, 40),
        });
      }
      call.maxStalenessMs = ms;
    }
    await next();
  };
}
