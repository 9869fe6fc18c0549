import { isAbsolute, join } from "node:path";
import protobuf from "protobufjs";
import { protoDir, protoFileNames } from "./loader.ts";

/** What the .proto files say about where a method's calls belong. */
export interface MethodRoute {
  /** "read" for accessors and for questions about the node; "write" for everything else. */
  readonly kind: "read" | "write";
  /** The service is answered by the node that is asked. */
  readonly intercepted: boolean;
  /** Field names from the request message down to the repository that decides; undefined where there is none. */
  readonly target: readonly string[] | undefined;
}

let routes: ReadonlyMap<string, MethodRoute> | undefined;

/** The route of a method by its full name, for example `gitaly.RefService/ListRefs`. */
export function methodRoute(method: string): MethodRoute {
  // The codecs' loader does not expose the options of fields, so the files are parsed once more, on first use.
  routes ??= readRoutes();
  const route = routes.get(method);
  if (!route) throw new TypeError(`no method ${method}`);
  return route;
}

/** The value that `path` leads to in a decoded message; undefined where a message on the way is not set. */
export function valueAt(message: object, path: readonly string[]): unknown {
  let value: unknown = message;
  for (const name of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function readRoutes(): ReadonlyMap<string, MethodRoute> {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => (target.startsWith("google/protobuf/") || isAbsolute(target) ? target : join(protoDir, target));
  root.loadSync(protoFileNames.map((name) => join(protoDir, name)));
  root.resolveAll();
  const found = new Map<string, MethodRoute>();
  const visit = (namespace: protobuf.NamespaceBase): void => {
    for (const nested of namespace.nestedArray) {
      if (nested instanceof protobuf.Service) {
        for (const method of nested.methodsArray) found.set(`${nested.fullName.slice(1)}/${method.name}`, routeOf(nested, method));
      } else if (nested instanceof protobuf.Namespace) visit(nested);
    }
  };
  visit(root);
  return found;
}

function routeOf(service: protobuf.Service, method: protobuf.Method): MethodRoute {
  const request = method.resolvedRequestType;
  const target = request ? pathToTarget(request, []) : undefined;
  const operation = optionOf(method, "op_type.op");
  const reads = operation === "ACCESSOR" || (operation === undefined && target === undefined);
  return { kind: reads ? "read" : "write", intercepted: optionOf(service, "intercepted") === true, target };
}

/** An option may be written with its package or, inside that package, without. */
function optionOf(object: protobuf.ReflectionObject, name: string): unknown {
  const [extension = "", ...rest] = name.split(".");
  const tail = rest.map((part) => `.${part}`).join("");
  return object.options?.[`(${extension})${tail}`] ?? object.options?.[`(gitaly.${extension})${tail}`];
}

function pathToTarget(type: protobuf.Type, above: readonly protobuf.Type[]): string[] | undefined {
  if (above.includes(type)) return undefined;
  for (const field of type.fieldsArray) {
    if (optionOf(field, "target_repository") === true) return [field.name];
  }
  for (const field of type.fieldsArray) {
    if (field.repeated || !(field.resolvedType instanceof protobuf.Type)) continue;
    const below = pathToTarget(field.resolvedType, [...above, type]);
    if (below) return [field.name, ...below];
  }
  return undefined;
}
