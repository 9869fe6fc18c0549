import pino from "pino";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured logging: a constant message, and fields for all that varies. Never give it a secret. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each line. */
  child(fields: LogFields): Logger;
}

/** JSON lines through pino. `destination` is a file path, or stderr where it is undefined. */
export function createLogger(options: { level: LogLevel; destination?: string; fields?: LogFields }): Logger {
  const target =
    options.destination === undefined
      ? pino.destination({ fd: 2, sync: true })
      : pino.destination({ dest: options.destination, mkdir: true, sync: true });
  return adapt(pino({ level: options.level, base: options.fields ?? {}, serializers: { error: serializeError } }, target));
}

function adapt(logger: pino.Logger): Logger {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => logger[level](fields ?? {}, message);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), child: (fields) => adapt(logger.child(fields)) };
}

function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code, fields } = error as { code?: unknown; fields?: unknown };
  return {
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(fields === undefined ? {} : { fields }),
    ...(error.cause === undefined ? {} : { cause: serializeError(error.cause) }),
    stack: error.stack,
  };
}

/** Drops everything. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
