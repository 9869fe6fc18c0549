import { status } from "@grpc/grpc-js";
import type { Clock } from "../../base/index.ts";
import type { LogFields, Logger } from "../../observability/index.ts";
import { codeName } from "../code-name.ts";
import { callStatusOf, decisiveError, RedirectStatus } from "../errors.ts";
import { type Interceptor, metadataText, type ServerCall } from "../server-call.ts";

/** Request metadata that is logged -> the field it is logged as. */
const loggedMetadata: Readonly<Record<string, string>> = {
  client_name: "grpc.meta.client_name",
  call_site: "grpc.meta.call_site",
  deadline_type: "grpc.meta.deadline_type",
  remote_ip: "remote_ip",
  user_id: "user_id",
  username: "username",
};

/** Failures that are ours, not the caller's. */
const serious: ReadonlySet<status> = new Set([status.INTERNAL, status.UNKNOWN, status.DATA_LOSS]);

/** One line for each call that ends, with Gitaly's field names. */
export function log(logger: Logger, clock: Clock): Interceptor {
  return async (call, next) => {
    const startedAt = clock.now();
    const started = clock.monotonic();
    const fields = (code: status): LogFields => ({
      ...callFields(call),
      "grpc.code": codeName(code),
      "grpc.start_time": new Date(startedAt).toISOString(),
      "grpc.time_ms": Math.round((clock.monotonic() - started) * 1000) / 1000,
    });
    try {
      await next();
      // Probes come every few seconds and say nothing new.
      logger[call.method.service.startsWith("grpc.") ? "debug" : "info"]("finished call", fields(status.OK));
    } catch (error) {
      const { code } = callStatusOf(error, call.correlationId);
      logger[serious.has(code) ? "error" : "info"]("finished call", { ...fields(code), ...errorFields(error, code) });
      throw error;
    }
  };
}

function callFields(call: ServerCall): LogFields {
  const fields: Record<string, unknown> = {
    correlation_id: call.correlationId,
    "grpc.service": call.method.service,
    "grpc.method": call.method.shortName,
    "grpc.meta.method_type": call.method.type,
    "grpc.meta.method_operation": call.method.route.kind === "read" ? "accessor" : "mutator",
    "grpc.request.fullMethod": `/${call.method.name}`,
    "peer.address": call.peer,
  };
  if (call.repository) {
    fields["grpc.request.repoStorage"] = call.repository.storageName;
    fields["grpc.request.repoPath"] = call.repository.relativePath;
  }
  for (const [key, name] of Object.entries(loggedMetadata)) {
    const value = metadataText(call.metadata, key);
    if (value !== undefined) fields[name] = value.slice(0, 256);
  }
  return fields;
}

function errorFields(error: unknown, code: status): LogFields {
  if (error instanceof RedirectStatus) return { redirected_to: error.redirect.owners?.map(({ node }) => node) };
  const coded = decisiveError(error);
  if (!coded || serious.has(code)) return { error };
  return { error: coded.message, error_code: coded.code, error_metadata: coded.fields };
}
