import { CodedError, type Fields } from "../../base/index.ts";

/** The one error that decoders throw: what a peer sent is not the protocol. */
export function protocolError(message: string, fields: Fields = {}): CodedError {
  return new CodedError("protocol_error", message, fields);
}
