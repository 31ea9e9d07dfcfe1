import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { decodeRequest } from "../../src/wire/decode/decode.ts";
import { requestLimits } from "../../src/wire/decode/limits.ts";
import { errorTable } from "../../src/wire/errors/error-table.ts";
import { requestErrors } from "../../src/wire/decode/request-errors.ts";
import { type Charset, charsetOf } from "../../src/wire/decode/text.ts";
import type { RequestErrorKind } from "../../src/wire/decode/request-errors.ts";
import { isTreeObject, Lifted, textOf } from "../../src/wire/decode/tree.ts";
import { WireError } from "../../src/wire/decode/wire-error.ts";
import { plainTree } from "./decoder-encodings.ts";

const pan = "4111111111111111";

function decodedTree(target: string, body = ""): unknown {
  return plainTree(decodeRequest(target, Buffer.from(body)).params);
}

function assertRefused(
  kind: RequestErrorKind,
  target: string,
  body: string | Buffer = "",
  name = "",
): void {
  const code = requestErrors[kind];
  assert.throws(
    () => decodeRequest(target, Buffer.from(body)),
    (error) => {
      assert.ok(error instanceof WireError, `a WireError, not ${String(error)}`);
      assert.equal(error.statusCode, code);
      assert.equal(error.message, errorTable[code].message.replace("{name}", name));
      return true;
    },
  );
}

test("a guarded field given twice in one layer is refused in each of the layers, even with one value", () => {
  const refused = [
    ["hash", "/ws/capture?hash=a&hash=a", ""],
    ["amount", "/ws/capture?amount=1&hash=a&%61mount=2", ""],
    ["amount", "/ws/capture", "amount=1&amount="],
    ["hash", "/ws/capture", '{"hash":"a","h\\u0061sh":"b"}'],
    ["hash", "/ws/capture", '{"hash":"a","hash":null}'],
    ["amount_total", "/ws/direct", '{"payment":{"amount_total":1,"amount_total":1}}'],
    ["token", "/ws/direct?payment[creditcard][token]=a&payment%5Bcreditcard%5D%5Btoken%5D=b", ""],
    ["payment", "/ws/direct", '{"payment":{"amount_total":1},"payment":{"amount_total":2}}'],
    ["payment", "/ws/direct", "payment=x&payment[amount_total]=1"],
    ["payment", "/ws/direct", "payment[amount_total]=1&payment=x"],
    [
      "card_number",
      "/ws/token",
      `{"creditcard":{"card_number":"${pan}","card_number":"5555555555554444"}}`,
    ],
    ["request_body", "/ws/token", "request_body={}&request_body={}"],
    ["hash", "/ws/capture", "hash[]=a&hash[]=b"],
  ] as const;
  for (const [name, target, body] of refused) assertRefused("repeated_field", target, body, name);
  assert.deepEqual(
    decodedTree("/ws/capture", '{"note":"a","note":"b"}'),
    { note: "b" },
    "control: of other fields the last wins",
  );
  assert.deepEqual(decodedTree("/ws/capture?note=a&note=b"), { note: "b" });
  assert.deepEqual(decodedTree("/ws/capture?note=a&note="), {});
  assert.deepEqual(decodedTree("/ws/capture", '{"note":"a","note":null}'), {});
});

test("a guarded field with different values in two layers is refused, with one value it is not", () => {
  const layers = {
    query: (name: string, value: string) => ({ target: `?${name}=${value}`, body: "" }),
    form: (name: string, value: string) => ({ target: "", body: `${name}=${value}` }),
    json: (name: string, value: string) => ({
      target: "",
      body: `request_body={"${name}":"${value}"}`,
    }),
  };
  for (const [first, ofFirst] of Object.entries(layers)) {
    for (const [second, ofSecond] of Object.entries(layers)) {
      if (first === second) continue;
      for (const name of ["hash", "amount", "integration_key", "token"]) {
        const both = (a: string, b: string): [string, string] => {
          const parts = [ofFirst(name, a), ofSecond(name, b)];
          const bodies = parts.map(({ body }) => body).filter((body) => body !== "");
          return [`/ws/capture${parts.map(({ target }) => target).join("")}`, bodies.join("&")];
        };
        assertRefused("repeated_field", ...both("1", "2"), name);
        assert.deepEqual(decodedTree(...both("1", "1")), { [name]: "1" }, `${first} and ${second}`);
      }
    }
  }
  assertRefused(
    "repeated_field",
    "/ws/direct?payment[amount_total]=1",
    '{"payment":{"amount_total":2}}',
    "amount_total",
  );
  assertRefused(
    "repeated_field",
    `/ws/token?creditcard[card_number]=${pan}`,
    '{"creditcard":{"card_number":"5555555555554444"}}',
    "card_number",
  );
  assert.deepEqual(
    decodedTree(
      "/ws/direct?payment[amount_total]=1&note=a",
      '{"payment":{"currency_code":"BRL"},"note":"b"}',
    ),
    {
      payment: { amount_total: "1", currency_code: "BRL" },
      note: "b",
    },
  );
});

test("a null or empty value counts as absent and leaves the field to another layer", () => {
  assert.deepEqual(
    decodedTree("/ws/capture?hash=a", '{"hash":null,"amount":"","payment":{"token":null}}'),
    { hash: "a", payment: {} },
  );
});

test("numbers keep their text, and booleans are words", () => {
  assert.deepEqual(
    decodedTree(
      "/ws/direct",
      '{"a":100.50,"b":12345678901234567890,"c":-0,"d":1E+2,"e":true,"f":false,"g":[1,null,"",{"h":0.0}]}',
    ),
    {
      a: "100.50",
      b: "12345678901234567890",
      c: "-0",
      d: "1E+2",
      e: "true",
      f: "false",
      g: ["1", { h: "0.0" }],
    },
  );
});

test("an empty array as the body is nothing, any other array is refused", () => {
  assert.deepEqual(decodedTree("/ws/capture?hash=a", "[]"), { hash: "a" });
  assert.deepEqual(decodedTree("/ws/capture?hash=a", "\ufeff [ ]\r\n"), { hash: "a" });
  for (const body of ['[{"hash":"b"}]', "[[]]", "[]x", "["])
    assertRefused("unsupported_body", "/ws/capture?hash=a", body);
});

test("a form that is cut by a raw & is read to its end with a warning", () => {
  const body = `request_body={"payment":{"name":"Jos\u00e9 + Ana & 100% <Cia>=\\"x\\"","email":"ney%2Bmar%40test.com","card":{"card_number":"${pan}","card_cvv":"123"},"notification_url":"https://a.example/?a=1&b=2"}}`;
  const decoded = decodeRequest("/ws/direct", Buffer.from(body));
  assert.deepEqual(decoded.warnings, ["form_repaired"]);
  assert.deepEqual(plainTree(decoded.params), {
    payment: {
      name: 'Jos\u00e9   Ana & 100% <Cia>="x"',
      email: "ney+mar@test.com",
      card: { card_number: `lifted:${pan}`, card_cvv: "lifted:123" },
      notification_url: "https://a.example/?a=1&b=2",
    },
  });
  const whole = decodeRequest("/ws/direct", Buffer.from(body.replaceAll("&", "%26")));
  assert.deepEqual(whole.warnings, [], "control: encoded, it needs no repair");
  assert.deepEqual(plainTree(whole.params), plainTree(decoded.params));
  assertRefused("malformed_json", "/ws/direct", `${body}}`);
  assertRefused("malformed_json", "/ws/direct", 'request_body={"a":1&b=2');
  assertRefused("repeated_field", "/ws/direct", 'request_body={"hash":1,"hash":2}&b=2', "hash");
});

test("fields before a cut form stay, its own pieces are not fields", () => {
  assert.deepEqual(decodedTree("/ws/direct", 'note=a&request_body={"name":"b & hash=c"}'), {
    note: "a",
    name: "b & hash=c",
  });
});

test("a piece of an unencoded value that looks like a field is not an error", () => {
  const refund = decodedTree(
    "/ws/refund",
    `hash=a&description=item returned & damaged, ${"very ".repeat(40)}=&amount=1`,
  );
  assert.deepEqual(refund, { hash: "a", description: "item returned ", amount: "1" });
});

test("bad escapes stay as they are, and characters that no store keeps become replacement characters", () => {
  assert.deepEqual(decodedTree("/ws/query?note=100%&a=%4&b=%zz&c=%"), {
    note: "100%",
    a: "%4",
    b: "%zz",
    c: "%",
  });
  assert.deepEqual(decodedTree("/ws/query?note=%EF%BF%BD&a=%00x"), {
    note: "\ufffd",
    a: "\ufffdx",
  });
  assert.deepEqual(decodedTree("/ws/query", '{"a":"\\ud800 \\u0000","b":"\ufffd"}'), {
    a: "\ufffd \ufffd",
    b: "\ufffd",
  });
});

describe("text that is not UTF-8", () => {
  /** One name in every place where text can be, as bytes of a charset. */
  const shapes = (
    name: string,
    escaped: string,
  ): readonly (readonly [shape: string, target: string, body: string])[] => [
    ["JSON", "/ws/x", `{"name":"${name}"}`],
    [
      "JSON with an escape beside it",
      "/ws/x",
      `{"name":"${name.slice(0, 2)}\\u0073${name.slice(3)}"}`,
    ],
    ["a form", "/ws/x", `name=${name}`],
    ["an escaped form", "/ws/x", `name=${escaped}`],
    ["JSON in a form", "/ws/x", `request_body={"name":"${name}"}`],
    ["JSON in an escaped form", "/ws/x", `request_body=%7B%22name%22%3A%22${escaped}%22%7D`],
    ["a query", `/ws/x?name=${escaped}`, ""],
    ["JSON in a query", `/ws/x?request_body=%7B%22name%22%3A%22${escaped}%22%7D`, ""],
    [
      "parts",
      "/ws/x",
      `--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n${name}\r\n--b--`,
    ],
  ];
  const jose = shapes("Jos\xe9 Nu\xf1ez", "Jos%E9+Nu%F1ez");

  for (const [shape, target, body] of jose) {
    test(`is read by its charset: ${shape}`, () => {
      for (const charset of ["windows-1252", "iso-8859-15"] as const) {
        assert.deepEqual(
          plainTree(decodeRequest(target, Buffer.from(body, "latin1"), charset).params),
          { name: "José Nuñez" },
        );
      }
    });

    test(`is refused where no charset is named, or one that is not read: ${shape}`, () => {
      for (const charset of [undefined, "utf-8", "other"] as const) {
        assert.throws(() => decodeRequest(target, Buffer.from(body, "latin1"), charset), {
          statusCode: requestErrors.unreadable_text,
        });
      }
    });
  }

  test("has the signs of its own charset", () => {
    const read = (bytes: string, charset: Charset): unknown =>
      plainTree(decodeRequest("/ws/x", Buffer.from(`name=${bytes}`, "latin1"), charset).params);
    assert.deepEqual(read("\x80 \x93a\x94 \x92", "windows-1252"), { name: "€ “a” ’" });
    assert.deepEqual(read("\xa4", "iso-8859-15"), { name: "€" });
  });

  test("control: UTF-8 is read as that under any charset, as of clients that name one and do not use it", () => {
    for (const charset of [undefined, "utf-8", "windows-1252", "iso-8859-15", "other"] as const) {
      for (const [shape, target, body] of shapes("José Nuñez", "Jos%C3%A9+Nu%C3%B1ez")) {
        assert.deepEqual(
          plainTree(decodeRequest(target, Buffer.from(body), charset).params),
          { name: "José Nuñez" },
          shape,
        );
      }
    }
  });

  test("in a part of its own charset is read by that", () => {
    const part = (type: string, name: string, value: string): string =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: text/plain${type}\r\n\r\n${value}\r\n`;
    const latin = "; charset=ISO-8859-1";
    const body = `${part(latin, "name", "Jos\xe9")}${part("", "city", "Bogot\xc3\xa1")}--b--`;
    assert.deepEqual(plainTree(decodeRequest("/ws/x", Buffer.from(body, "latin1")).params), {
      name: "José",
      city: "Bogotá",
    });
    const wrong = `${part(latin, "name", "Jos\xe9")}${part("", "city", "Bogot\xe1")}--b--`;
    assert.throws(() => decodeRequest("/ws/x", Buffer.from(wrong, "latin1")), {
      statusCode: requestErrors.unreadable_text,
    });
  });

  test("is of the charset that Content-Type names, however it is written", () => {
    const rows: readonly (readonly [string, Charset])[] = [
      ["application/json", "utf-8"],
      ["", "utf-8"],
      ["text/plain;charset=UTF-8", "utf-8"],
      ["application/x-www-form-urlencoded; charset=ISO-8859-1", "windows-1252"],
      ["application/json; charset=iso-8859-1; x=y", "windows-1252"],
      ['text/plain; x=y ; CharSet = "Latin1"', "windows-1252"],
      ["text/plain;charset=windows-1252", "windows-1252"],
      ["text/plain;charset=ISO-8859-15", "iso-8859-15"],
      ["text/plain; charset=us-ascii", "utf-8"],
      ["text/plain; charset=", "utf-8"],
      ["text/plain; charset=shift_jis", "other"],
      ["text/plain; charset=utf-16", "other"],
    ];
    for (const [type, charset] of rows) assert.equal(charsetOf(type), charset, type);
  });
});

test("brackets nest, append, and are part of the name when they do not match", () => {
  assert.deepEqual(
    decodedTree(
      "/fingerprint/?providers[0][session_id]=a&providers[0][x]=b&providers[1][session_id]=c",
    ),
    {
      providers: { 0: { session_id: "a", x: "b" }, 1: { session_id: "c" } },
    },
  );
  assert.deepEqual(decodedTree("/ws/x?t[]=a&t[]=b&l[][n]=1&l[][n]=2&m[k]=1&m[]=2"), {
    t: ["a", "b"],
    l: [{ n: "1" }, { n: "2" }],
    m: { k: "1", 1: "2" },
  });
  assert.deepEqual(decodedTree("/ws/x?t[]=a&t[1]=b&t[9]=c&t[x][y]=d"), { t: ["a", "b"] });
  assert.deepEqual(decodedTree("/ws/x?[a]=1&b[=2&c]=3&d[e]f=4&g[[h]]=5&i[j=6"), {
    "[a]": "1",
    "b[": "2",
    "c]": "3",
    "d[e]f": "4",
    "g[[h]]": "5",
    "i[j": "6",
  });
});

test("no name is special", () => {
  const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
  for (const name of names) {
    for (const [target, body] of [
      [`/ws/x?${name}=polluted&${name}[polluted]=yes`, ""],
      [`/ws/x?a[${name}][polluted]=yes`, ""],
      ["/ws/x", `{"${name}":{"polluted":"yes","${name}":{"polluted":"yes"}}}`],
      [`/ws/x?${name}[polluted]=no`, `{"${name}":{"polluted":"yes"}}`],
    ] as const) {
      const { params } = decodeRequest(target, Buffer.from(body));
      assert.ok(Object.keys(params).length > 0);
      assert.equal("polluted" in {}, false, `${name} did not reach Object.prototype`);
      assert.equal("polluted" in Object.getPrototypeOf(params), false);
    }
    assert.equal(
      decodeRequest("/ws/x?other=1").params[name],
      undefined,
      "an absent member is absent, whatever its name",
    );
  }
});

test("sensitive values are lifted under their names at any depth, with blanks and dashes dropped", () => {
  const values: readonly (readonly [string, string])[] = [
    [`"${pan}"`, pan],
    [pan, pan],
    ['"4111 1111-1111\\t1111"', pan],
    [`"\\u0034111111111111111"`, pan],
    ['"6362970000457013123"', "6362970000457013123"],
    ["6362970000457013123", "6362970000457013123"],
    ["true", "true"],
  ];
  for (const [json, expected] of values) {
    const { params } = decodeRequest(
      "/ws/token",
      Buffer.from(`{"creditcard":{"card_number":${json}},"card_cv\\u0076":"12 3"}`),
    );
    assert.deepEqual(plainTree(params), {
      creditcard: { card_number: `lifted:${expected}` },
      card_cvv: "lifted:123",
    });
    assert.equal(JSON.stringify(params).includes("1111"), false);
  }
  assert.deepEqual(
    decodedTree("/ws/token", "creditcard[card_number]=4111+1111%201111-1111&card_cvv="),
    {
      creditcard: { card_number: `lifted:${pan}` },
    },
  );
  assert.deepEqual(
    decodedTree("/ws/direct", 'request_body={"network_token_cryptogram":"AAAA+/=="}'),
    {
      network_token_cryptogram: "lifted:AAAA+/==",
    },
  );
});

test("blanks and dashes that do not separate digits make a sensitive value malformed", () => {
  for (const value of [
    `-${pan}`,
    `${pan}-`,
    "--4111-1111-1111-1111",
    "4111--1111 1111 1111",
    "4111  1111 1111 1111",
    "4111 -1111 1111 1111",
    "-",
  ]) {
    for (const body of [
      `{"card_number":"${value}"}`,
      `card_number=${value}`,
      `request_body={"card_number":"${value}"}`,
    ]) {
      const given = decodeRequest("/ws/token", Buffer.from(body)).params["card_number"];
      assert.ok(given instanceof Lifted);
      assert.deepEqual([given.wellFormed, given.bytes.length], [false, 0], body);
    }
  }
  // Spaces around it are ignored.
  assert.deepEqual(decodedTree("/ws/token", `{"card_number":"  ${pan}\\t"}`), {
    card_number: `lifted:${pan}`,
  });
});

test("a pasted card number or security code is read: blanks of any kind, dashes of any kind, invisible characters", () => {
  const groups = ["4111", "1111", "1111", "1111"];
  const written = [
    ...["\n", "\r\n", "\u00a0", "\u2009", "\u202f", "\u3000", "\u200b", "\ufeff", "\u200e"].flatMap(
      (blank) => [pan + blank, blank + pan],
    ),
    ...[
      "\u00a0",
      "\u2009",
      "\u202f",
      "\u2002",
      "\u2011",
      "\u2013",
      "\u2014",
      "\u2212",
      "\u200b",
      "\u00ad",
    ].map((gap) => groups.join(gap)),
    `\u202d${groups.join("\u00a0\u200b")}\u202c`,
  ];
  for (const text of written) {
    const json = JSON.stringify({
      card_number: text,
      card_cvv: `\u00a0123${text.at(-1) === "1" ? "\n" : text.at(-1)}`,
    });
    const form = new URLSearchParams(JSON.parse(json) as Record<string, string>).toString();
    const escaped = json.replace(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    for (const body of [json, form, escaped]) {
      assert.deepEqual(
        decodedTree("/ws/token", body),
        { card_number: `lifted:${pan}`, card_cvv: "lifted:123" },
        body,
      );
    }
  }
  // Two separators in a row, or a dash at an end, are not a spelling of a number.
  for (const text of [
    groups.join("\u00a0\u00a0"),
    groups.join("\u2013-"),
    `\u2013${pan}`,
    `${pan}\u2011`,
    `${pan}\u2011\n`,
  ]) {
    const given = decodeRequest("/ws/token", Buffer.from(JSON.stringify({ card_number: text })))
      .params["card_number"];
    assert.ok(given instanceof Lifted);
    assert.equal(given.wellFormed, false, text);
  }
});

test("a body that is neither an object, nor a form, nor parts is refused", () => {
  for (const body of ["40", "null", '"a=b"', "<a b='c'/>", "amount: 40", "&&", "=1", "a\0=b"])
    assertRefused("unsupported_body", "/ws/x", body);
  for (const encoding of ["utf16le", "latin1"] as const) {
    assertRefused(
      "unsupported_body",
      "/ws/x",
      Buffer.from(encoding === "latin1" ? "\xfe\xff\0a\0=\0b" : "a=b", encoding),
    );
  }
  assert.deepEqual(decodedTree("/ws/x", "a="), {}, "control: a name with an empty value is a form");
});

test("a number in a card node is lifted, and in no other node", () => {
  for (const body of [
    `{"paymentInformation":{"card":{"number":"${pan}"}},"address":{"number":"12"},"number":"7"}`,
    `{"paymentInformation":{"c\\u0061rd":{"n\\u0075mber":${pan}}},"address":{"number":12},"number":7}`,
    `paymentInformation[card][number]=${pan}&address[number]=12&number=7`,
  ]) {
    assert.deepEqual(
      decodedTree("/ws/threedsecureserver-authentications", body),
      {
        paymentInformation: { card: { number: `lifted:${pan}` } },
        address: { number: "12" },
        number: "7",
      },
      body,
    );
  }
});

test("a sensitive value of the wrong shape is lifted as malformed, without its bytes", () => {
  for (const [target, body] of [
    ["/ws/token", `{"card_number":["${pan}"]}`],
    ["/ws/token", `{"card_number":{"card_number":"${pan}"}}`],
    ["/ws/token", `{"card_number":"${pan.repeat(5)}"}`],
    [`/ws/token?card_number[]=${pan}`, ""],
    ["/ws/token", `card_number[x][y]=${pan}`],
  ] as const) {
    const value = decodeRequest(target, Buffer.from(body)).params["card_number"];
    assert.ok(value instanceof Lifted);
    assert.equal(value.wellFormed, false);
    assert.equal(value.bytes.length, 0);
  }
});

test("the body is overwritten and sensitive values are wiped, also when the request is refused", () => {
  for (const text of [
    `{"creditcard":{"card_number":"${pan}"}}`,
    `request_body=%7B%22card_number%22:%22${pan}%22%7D`,
    `request_body={"card_number":"${pan}","name":"a & b"}`,
    `card_number=${pan}`,
    `{"card_number":"${pan}","hash":1,"hash":2}`,
    `{"card_number":"${pan}",`,
    `{"request_body":"{\\"card_number\\":\\"${pan}\\"}"}`,
  ]) {
    const body = Buffer.from(text);
    try {
      const decoded = decodeRequest("/ws/token", body);
      assert.equal(JSON.stringify(decoded.params).includes(pan), false);
      decoded.wipe();
      for (const { bytes } of decoded.lifted) assert.ok(bytes.every((byte) => byte === 0));
    } catch (error) {
      assert.ok(error instanceof WireError);
    }
    assert.ok(
      body.every((byte) => byte === 0),
      text,
    );
  }
});

test("limits hold at their edge", () => {
  const nested = (depth: number): string =>
    `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
  const { depth, members, nameBytes } = requestLimits;
  const wide = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"f${index}":1`).join(",")}}`;
  decodeRequest("/ws/x", Buffer.from(nested(depth)));
  assertRefused("too_deep", "/ws/x", nested(depth + 1));
  assertRefused("too_deep", "/ws/x", `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  assertRefused("too_deep", `/ws/x?a${"[b]".repeat(depth)}=1`);
  assert.equal(
    Object.keys(decodeRequest("/ws/x", Buffer.from(wide(members))).params).length,
    members,
  );
  assertRefused("too_many_fields", "/ws/x", wide(members + 1));
  assertRefused("too_many_fields", "/ws/x", `{"a":[${"1,".repeat(members)}1]}`);
  assertRefused("too_many_fields", "/ws/x", "a=1&".repeat(members + 1));
  assertRefused("too_many_fields", "/ws/x?q=1", wide(members));
  decodeRequest("/ws/x", Buffer.from(`{"${"n".repeat(nameBytes)}":1}`));
  assertRefused("name_too_long", "/ws/x", `{"${"n".repeat(nameBytes + 1)}":1}`);
  assertRefused("name_too_long", "/ws/x", `{"${"\\u006e".repeat(nameBytes + 1)}":1}`);
  assertRefused("malformed_json", "/ws/x", "{".repeat(100_000));
});

test("a text is taken exactly when JSON.parse takes it, and means the same", () => {
  const characters = fc.constantFrom(...Array.from('{}[]:,"\\ \n\t01-+.eEtrufalsn/bx\u00e9\u0001'));
  const broken = fc
    .tuple(
      fc.json({ maxDepth: 4 }),
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.array(characters, { maxLength: 3 }),
    )
    .map(([json, at, removed, inserted]) => {
      const index = at % (json.length + 1);
      return json.slice(0, index) + inserted.join("") + json.slice(index + removed);
    });
  let taken = 0;
  fc.assert(
    fc.property(fc.oneof(fc.json({ maxDepth: 4 }), broken), (inner) => {
      const json = `{"value":${inner}}`;
      // A broken text can make a name out of many values: the limit on names has its own test.
      fc.pre(!/"[^"]{100}/.test(json));
      let parsed: unknown;
      try {
        parsed = JSON.parse(json);
      } catch {
        assert.throws(() => decodeRequest("/ws/x", Buffer.from(json)), WireError);
        return;
      }
      taken += 1;
      assert.deepEqual(withoutNothing(decodedTree("/ws/x", json)), withoutNothing(parsed));
    }),
    { numRuns: 4_000 },
  );
  assert.ok(taken > 1_000, "control: many texts are valid");
});

/**
 * A value in the decoder's terms, with numbers by their value: JSON.parse does not keep their text.
 */
function withoutNothing(value: unknown): unknown {
  if (value === null || value === "") return undefined;
  if (typeof value === "string" && !Number.isFinite(Number.parseInt(value, 10)))
    return value.toWellFormed().replaceAll("\0", "\ufffd");
  if (typeof value !== "object")
    return typeof value === "boolean" ? String(value) : String(Number(value));
  if (Array.isArray(value))
    return value.map(withoutNothing).filter((element) => element !== undefined);
  const entries = Object.entries(value).map(
    ([name, member]) =>
      [name.toWellFormed().replaceAll("\0", "\ufffd"), withoutNothing(member)] as const,
  );
  return Object.fromEntries(entries.filter(([, member]) => member !== undefined));
}

test("the first byte decides what a body is", () => {
  const expected = { integration_key: "k" };
  assert.deepEqual(decodedTree("/ws/x", '\r\n\t {"integration_key":"k"}'), expected);
  assert.deepEqual(decodedTree("/ws/x", "\ufeffintegration_key=k\r\n"), expected);
  assert.deepEqual(
    decodedTree("/ws/x", '\ufeffrequest_body=\ufeff{"integration_key":"k"}'),
    expected,
  );
  assert.deepEqual(decodedTree("/ws/x", "request_body=&integration_key=k"), expected);
  assert.deepEqual(decodedTree("/ws/x", "--a=b&integration_key=k"), { "--a": "b", ...expected });
});

test("multipart forms are read, and broken ones and files are refused", () => {
  const part = (head: string, value: string): string =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  const form = `${part('name="hash"', "a")}${part('name="creditcard[card_number]"', pan)}--b--\r\n`;
  const { params } = decodeRequest("/ws/x", Buffer.from(form));
  assert.equal(textOf(params, "hash"), "a");
  assert.ok(isTreeObject(params["creditcard"]));
  assert.deepEqual(Object.keys(params), ["hash", "creditcard"]);
  for (let length = 8; length < form.length - 5; length += 1)
    assertRefused("unsupported_body", "/ws/x", form.slice(0, length));
  assertRefused(
    "unsupported_body",
    "/ws/x",
    `${part('name="hash"', "a")}${part('name="f"; filename="x.txt"', "file")}--b--`,
  );
  assertRefused(
    "repeated_field",
    "/ws/x",
    `${part('name="hash"', "a")}${part('name="hash"', "b")}--b--`,
    "hash",
  );
});

test("a value that is not a card number in two layers is one value, and a card number beside it is two", () => {
  // Found by the metamorphic test: the same request was decoded differently when its encoding
  // repeated a value.
  const twice = decodeRequest("/ws/direct?card_number=-", Buffer.from('{"card_number":"-"}'));
  const once = decodeRequest("/ws/direct", Buffer.from('{"card_number":"-"}'));
  assert.deepEqual(plainTree(twice.params), plainTree(once.params));
  assertRefused(
    "repeated_field",
    "/ws/direct?card_number=-",
    `{"card_number":"${pan}"}`,
    "card_number",
  );
  assertRefused(
    "repeated_field",
    `/ws/direct?card_number=${pan}`,
    '{"card_number":"4111115666052208"}',
    "card_number",
  );
});
