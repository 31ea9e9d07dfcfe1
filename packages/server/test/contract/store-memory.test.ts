import { createMemoryStore } from "../../src/stores/memory/memory-store.ts";
import { describeStoreContract } from "./store.contract.ts";

describeStoreContract("the memory store", async () => createMemoryStore());
