import type { MethodDefinition, ServiceDefinition } from "@grpc/proto-loader";
import { type MethodRoute, methodRoute, packageDefinition, valueAt } from "../proto/index.ts";

/** One method of a service as the client calls it. */
export interface ClientMethod {
  /** Full name, for example `gitaly.RefService/ListRefs`. */
  readonly name: string;
  readonly definition: MethodDefinition<object, object>;
  readonly route: MethodRoute;
}

/** The methods of a service by their name in code, for example `listRefs`. */
export function methodsOf(service: string): [string, ClientMethod][] {
  const definition = packageDefinition[service] as ServiceDefinition | undefined;
  if (!definition) throw new TypeError(`no service ${service}`);
  return Object.entries(definition).map(([shortName, method]) => {
    const name = `${service}/${shortName}`;
    return [
      `${shortName.charAt(0).toLowerCase()}${shortName.slice(1)}`,
      { name, definition: method as MethodDefinition<object, object>, route: methodRoute(name) },
    ];
  });
}

/** What owners are remembered by; undefined for a request that names no repository. */
export function repositoryIn(method: ClientMethod, request: object): string | undefined {
  if (!method.route.target) return undefined;
  const { storageName, relativePath } = (valueAt(request, method.route.target) ?? {}) as { storageName?: string; relativePath?: string };
  return relativePath ? `${storageName}\0${relativePath}` : undefined;
}
