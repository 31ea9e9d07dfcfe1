import type { Schema } from "../wire/schema.ts";

/** The parts of OpenAPI 3.1 that this program writes. */
export interface OpenApi {
  readonly openapi: "3.1.0";
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
  };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Codes that every operation may return in addition to its own. */
  readonly "x-errors": OperationObject["x-errors"];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
    readonly requestBodies: Readonly<Record<string, RequestBody>>;
  };
}

export interface PathItem {
  readonly get?: OperationObject;
  readonly post?: OperationObject;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, Answer>>;
  /** The condition of each code that is specific to the operation. */
  readonly "x-errors": readonly {
    readonly code: string;
    readonly message: string;
    readonly condition: string;
  }[];
  readonly "x-codeSamples": readonly {
    readonly lang: "Shell";
    readonly label: string;
    readonly source: string;
  }[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

export interface RequestBody {
  readonly description: string;
  readonly required: boolean;
  readonly content: Readonly<
    Record<string, { readonly schema: Schema; readonly example?: unknown }>
  >;
}

export interface Answer {
  readonly description: string;
  readonly headers?: Readonly<
    Record<string, { readonly description: string; readonly schema: Schema }>
  >;
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface SecurityScheme {
  readonly type: "apiKey";
  readonly in: "query";
  readonly name: string;
  readonly description: string;
}
