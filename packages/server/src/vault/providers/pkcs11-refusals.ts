import type { RootKeyFailure } from "../key-provider.ts";

/** Why the helper did not do what it was asked for, as it names it, and what follows. */
interface Refusal {
  readonly failure: RootKeyFailure;
  /** What follows "the root key KEY_ID: ". */
  readonly text: string;
  /** The session still works, so the helper is kept. */
  readonly keepsHelper?: true;
}

const keepsHelper = true;

const named: ReadonlyMap<string, Refusal> = new Map<string, Refusal>([
  [
    "module_not_loaded",
    {
      failure: "unavailable",
      text: "the module of COFRE_PKCS11_MODULE cannot be loaded: check the path, its architecture, and the libraries that it needs",
    },
  ],
  [
    "function_missing",
    {
      failure: "unavailable",
      text: "the module of COFRE_PKCS11_MODULE does not export the functions of PKCS#11 by name; one that exports C_GetFunctionList only is not supported",
    },
  ],
  [
    "token_missing",
    {
      failure: "unavailable",
      text: "no token that is present has the token attributes of COFRE_ROOT_KEY",
    },
  ],
  [
    "token_ambiguous",
    {
      failure: "unavailable",
      text: "more than one token has the token attributes of COFRE_ROOT_KEY",
    },
  ],
  [
    "pin_count_low",
    {
      failure: "unauthorized",
      text: "the token has refused a PIN since the last login, so no login is tried: log in once with another program, which resets the count, after correcting the PIN in the file of COFRE_ROOT_KEY_SECRET_FILE",
    },
  ],
  [
    "pin_final_try",
    {
      failure: "unauthorized",
      text: "one more wrong PIN locks the token, so no login is tried: log in once with another program, which resets the count, after correcting the PIN in the file of COFRE_ROOT_KEY_SECRET_FILE",
    },
  ],
  [
    "pin_locked",
    {
      failure: "unauthorized",
      text: "the PIN of the token is locked: the security officer must set a new one",
    },
  ],
  [
    "pin_to_be_changed",
    {
      failure: "unauthorized",
      text: "the token demands another PIN before the next login: change it with another program",
    },
  ],
  ["pin_not_set", { failure: "unauthorized", text: "the token has no user PIN yet" }],
  [
    "key_missing",
    {
      failure: "denied",
      text: "the token accepted the login and has no secret key with the object and id of COFRE_ROOT_KEY",
      keepsHelper,
    },
  ],
  [
    "key_ambiguous",
    {
      failure: "unavailable",
      text: "the token has more than one secret key with the object and id of COFRE_ROOT_KEY",
      keepsHelper,
    },
  ],
  [
    "key_unfit",
    {
      failure: "unavailable",
      text: "the key's attributes are not those of a root key (examples/key-services/make-pkcs11-key.ts makes one)",
      keepsHelper,
    },
  ],
  [
    "no_mechanism",
    {
      failure: "unavailable",
      text: "the token wraps neither by CKM_AES_GCM nor by CKM_AES_KEY_WRAP_KWP",
    },
  ],
]);

/** The helper's name for a wrapped key that does not unwrap although another one does. */
export const notUnwrapped = "not_unwrapped";

/** The helper's name for a function that did not return CKR_OK. */
const returned = "returned";

/** Names of CK_RV in PKCS#11 2.40 and 3.0 that say more than "not available". */
const returnValues: ReadonlyMap<number, readonly [string, RootKeyFailure]> = new Map([
  [0x05, ["CKR_GENERAL_ERROR", "unavailable"]],
  [0x06, ["CKR_FUNCTION_FAILED", "unavailable"]],
  [0x30, ["CKR_DEVICE_ERROR", "unavailable"]],
  [0x32, ["CKR_DEVICE_REMOVED", "unavailable"]],
  [0x68, ["CKR_KEY_FUNCTION_NOT_PERMITTED", "denied"]],
  [0x82, ["CKR_OBJECT_HANDLE_INVALID", "unavailable"]],
  [0xa0, ["CKR_PIN_INCORRECT", "unauthorized"]],
  [0xa1, ["CKR_PIN_INVALID", "unauthorized"]],
  [0xa2, ["CKR_PIN_LEN_RANGE", "unauthorized"]],
  [0xa3, ["CKR_PIN_EXPIRED", "unauthorized"]],
  [0xa4, ["CKR_PIN_LOCKED", "unauthorized"]],
  [0xb3, ["CKR_SESSION_HANDLE_INVALID", "unavailable"]],
  [0xe0, ["CKR_TOKEN_NOT_PRESENT", "unavailable"]],
  [0x101, ["CKR_USER_NOT_LOGGED_IN", "unauthorized"]],
  [0x102, ["CKR_USER_PIN_NOT_INITIALIZED", "unauthorized"]],
  [0x103, ["CKR_USER_TYPE_INVALID", "unauthorized"]],
] as const);

/** Return values of C_Login after which the same PIN is not tried again. */
const wrongPin: readonly number[] = [0xa0, 0xa1, 0xa2];

/** `detail` and `rv` are as the helper sent them: a function or attributes, and a CK_RV. */
export function refusalOf(name: string, detail: string, rv: number): Refusal {
  const known = named.get(name);
  if (known !== undefined)
    return detail === "" ? known : { ...known, text: `${known.text}: ${detail}` };
  if (name !== returned)
    return { failure: "unavailable", text: "the helper process sent an unknown answer" };
  const [code, failure] = returnValues.get(rv) ?? [`0x${rv.toString(16)}`, "unavailable"];
  return { failure, text: `${detail} of the PKCS#11 module returned ${code}` };
}

/** Whether the token stated that the PIN is wrong. */
export function isWrongPin(name: string, detail: string, rv: number): boolean {
  return name === returned && detail === "C_Login" && wrongPin.includes(rv);
}
