import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mayBeCrossSite } from "./cross-site.ts";

/* The effect at the server's own port is tested in packages/proof/attacks/cross-site-pages.test.ts. */

const ownNames = new Set(["cofre.example.com"]);

const own: readonly (readonly string[])[] = [
  [],
  ["Host", ""],
  ["Host", "127.0.0.1"],
  ["HOST", "192.168.100.200:8787"],
  ["Host", "[::1]"],
  ["Host", "[2001:db8::10.0.0.1]:8787"],
  ["Host", "[2001:DB8::A]"],
  ["Host", "localhost:"],
  ["Host", "shop.localhost"],
  ["Host", "LocalHost.:8787"],
  ["Host", "host.docker.internal:8787"],
  ["Host", "host.containers.internal"],
  ["Host", "cofre.example.com"],
  ["Host", "Cofre.Example.Com.:443"],
  ["Host", "127.0.0.1", "Origin", "http://127.0.0.1"],
  ["Host", "127.0.0.1:1", "origin", "https://127.0.0.1:1"],
  ["Host", "127.0.0.1", "Sec-Fetch-Site", "same-origin"],
  ["Host", "127.0.0.1", "Sec-Fetch-Site", "none"],
  // Only names of headers count, not values.
  ["Host", "127.0.0.1", "X-Said", "Origin", "X-Other", "cross-site"],
  ["X-Said", "host", "X-Other", "shop.example.com"],
];

const foreign: readonly (readonly string[])[] = [
  ["Host", "shop.example.com"],
  ["Host", "my_shop-1"],
  ["Host", "cofre."],
  ["Host", "xlocalhost"],
  ["Host", "evil.host.docker.internal"],
  ...["local", "internal", "test", "home.arpa", "svc.cluster.local"].map((end) => [
    "Host",
    `shop.${end}`,
  ]),
  ["Host", "SHOP.LOCAL.:8787"],
  ["Host", "cofre.example.com.evil.example"],
  ["Host", "evil.cofre.example.com"],
  ["Host", "cofre.example.com.."],
  ["Host", "127.0.0.1.example.com"],
  ["Host", "a127.0.0.1"],
  ["Host", "127.0.0.1a"],
  ["Host", "127.0.0.1.1"],
  ["Host", "1270.0.0.1"],
  ["Host", "127.0.0"],
  ["Host", "127.0.0.1000"],
  ["Host", "x[::1]"],
  ["Host", "[::1]x"],
  ["Host", "[::1"],
  ["Host", "[]"],
  ["Host", "[g::1]"],
  ["Host", "evil@localhost"],
  ["Host", "localhost/evil"],
  ["Host", "evil.example:80:80"],
  ["Host", "localhost:80a"],
  ["Host", "evillocal.example"],
  ["Host", "evil.xlocal"],
  ["Host", "evil.home.arpa.example"],
  ["Host", "evil.notarpa"],
  ["Host", "127.0.0.1", "Host", "evil.example"],
  ["Host", "evil.example", "Host", "127.0.0.1"],
  ["Host", "evil.example", "Origin", "http://evil.example"],
  ["Origin", "http://127.0.0.1"],
  ["Host", "127.0.0.1", "Origin", "null"],
  ["Host", "127.0.0.1", "Origin", ""],
  ["Host", "127.0.0.1", "Origin", "ftp://127.0.0.1"],
  ["Host", "127.0.0.1", "Origin", "http://127.0.0.1:3000"],
  ["Host", "127.0.0.1", "Origin", "http://127.0.0.1", "Origin", "http://evil.example"],
  ["Host", "127.0.0.1", "Sec-Fetch-Site", "cross-site"],
  ["Host", "127.0.0.1", "sec-fetch-site", "same-site"],
  ["Host", "127.0.0.1", "Sec-Fetch-Site", ""],
  ["Host", "127.0.0.1", "Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"],
];

describe("a request may be another site's", () => {
  for (const head of foreign)
    test(JSON.stringify(head), () => assert.ok(mayBeCrossSite(head, ownNames)));
});

describe("a request is same-site", () => {
  for (const head of own)
    test(JSON.stringify(head), () => assert.ok(!mayBeCrossSite(head, ownNames)));
});
