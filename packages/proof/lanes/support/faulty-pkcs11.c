/*
 * A PKCS#11 module that passes its calls to another one and has the faults and limits of real tokens, for the
 * custody lane. FAULTY_PKCS11_MODULE is the other module. The file FAULTY_PKCS11_FILE has the names of the faults and
 * is read for each call. A wrong PIN is counted in FAULTY_PKCS11_FILE.pin, for all processes, and the third one locks
 * the PIN. Numbers are those of PKCS#11 2.40 and 3.0; key wrap with padding is RFC 5649.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

typedef unsigned long UL;
typedef struct { UL type; void *value; UL length; } Mechanism;
typedef struct { unsigned char *iv; UL iv_length; UL iv_bits; void *aad; UL aad_length; UL tag_bits; } Gcm;

enum { OK = 0, GENERAL_ERROR = 0x5, DEVICE_ERROR = 0x30, DATA_INVALID = 0x40, NOT_PERMITTED = 0x68,
       MECHANISM_INVALID = 0x70, PARAM_INVALID = 0x71, PIN_INCORRECT = 0xa0, PIN_LOCKED = 0xa4 };
enum { ECB = 0x1081, GCM = 0x1087, KWP = 0x210b };

static void *other(const char *name) {
  static void *library;
  if (!library) library = dlopen(getenv("FAULTY_PKCS11_MODULE"), RTLD_NOW);
  return library ? dlsym(library, name) : NULL;
}
#define CALL(name, types, ...) ((UL(*) types)other(#name))(__VA_ARGS__)

static int has(const char *fault) {
  char text[256] = "";
  FILE *file = fopen(getenv("FAULTY_PKCS11_FILE"), "r");
  if (!file) return 0;
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return strstr(text, fault) != NULL;
}

static FILE *count_file(const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s.pin", getenv("FAULTY_PKCS11_FILE"));
  return fopen(path, mode);
}
static int wrong_pins(void) {
  int count = 0;
  FILE *file = count_file("r");
  if (file) { if (fscanf(file, "%d", &count) != 1) count = 0; fclose(file); }
  return count;
}
static void note_wrong_pins(int count) {
  FILE *file = count_file("w");
  if (file) { fprintf(file, "%d", count); fclose(file); }
}

UL C_Initialize(void *given) {
  puts("The maker's greeting on standard output");
  fflush(stdout);
  return CALL(C_Initialize, (void *), given);
}
UL C_Finalize(void *given) { return CALL(C_Finalize, (void *), given); }
UL C_GetSlotList(unsigned char present, UL *slots, UL *count) {
  return CALL(C_GetSlotList, (unsigned char, UL *, UL *), present, slots, count);
}
UL C_GetTokenInfo(UL slot, unsigned char *info) {
  UL rv = CALL(C_GetTokenInfo, (UL, unsigned char *), slot, info);
  int wrong = wrong_pins();
  UL *flags = (UL *)(info + 96);
  if (wrong >= 3) *flags |= 0x40000;
  else if (wrong == 2) *flags |= 0x20000;
  else if (wrong == 1) *flags |= 0x10000;
  return rv;
}
UL C_OpenSession(UL slot, UL flags, void *application, void *notify, UL *session) {
  if (has("device_error")) return DEVICE_ERROR;
  return CALL(C_OpenSession, (UL, UL, void *, void *, UL *), slot, flags, application, notify, session);
}
UL C_CloseSession(UL session) { return CALL(C_CloseSession, (UL), session); }
UL C_Login(UL session, UL user, unsigned char *pin, UL length) {
  int wrong = wrong_pins();
  if (wrong >= 3) return PIN_LOCKED;
  UL rv = CALL(C_Login, (UL, UL, unsigned char *, UL), session, user, pin, length);
  if (rv == PIN_INCORRECT) note_wrong_pins(wrong + 1);
  else if (rv == OK) note_wrong_pins(0);
  return rv;
}
UL C_FindObjectsInit(UL session, void *template, UL count) {
  return CALL(C_FindObjectsInit, (UL, void *, UL), session, template, count);
}
UL C_FindObjects(UL session, UL *objects, UL most, UL *count) {
  UL rv = CALL(C_FindObjects, (UL, UL *, UL, UL *), session, objects, most, count);
  if (has("deleted")) *count = 0;
  return rv;
}
UL C_FindObjectsFinal(UL session) { return CALL(C_FindObjectsFinal, (UL), session); }
UL C_GetAttributeValue(UL session, UL object, void *template, UL count) {
  return CALL(C_GetAttributeValue, (UL, UL, void *, UL), session, object, template, count);
}

/* The running operation: one at a time, as Cofre calls it. */
static UL key_in_use;
static int is_kwp;

static UL begin(int encrypt, UL session, Mechanism *mechanism, UL key) {
  if (has("hang")) pause();
  if (has("slow")) usleep(300000);
  if (has("crash")) raise(SIGSEGV);
  if (has("not_permitted")) return NOT_PERMITTED;
  key_in_use = key;
  is_kwp = mechanism->type == KWP;
  if (is_kwp) return has("no_gcm") ? OK : MECHANISM_INVALID;
  if (mechanism->type == GCM && has("no_gcm")) return MECHANISM_INVALID;
  if (mechanism->type == GCM && encrypt && has("own_iv")) {
    Gcm *gcm = mechanism->value;
    for (UL i = 0; i < gcm->iv_length; i += 1) if (gcm->iv[i]) return PARAM_INVALID;
    if (getrandom(gcm->iv, gcm->iv_length, 0) < 0) return GENERAL_ERROR;
  }
  return encrypt ? CALL(C_EncryptInit, (UL, Mechanism *, UL), session, mechanism, key)
                 : CALL(C_DecryptInit, (UL, Mechanism *, UL), session, mechanism, key);
}
UL C_EncryptInit(UL session, Mechanism *mechanism, UL key) { return begin(1, session, mechanism, key); }
UL C_DecryptInit(UL session, Mechanism *mechanism, UL key) { return begin(0, session, mechanism, key); }

static UL block(int encrypt, UL session, unsigned char *in, unsigned char *out) {
  Mechanism ecb = {ECB, NULL, 0};
  UL length = 16, rv;
  if (encrypt) {
    rv = CALL(C_EncryptInit, (UL, Mechanism *, UL), session, &ecb, key_in_use);
    return rv ? rv : CALL(C_Encrypt, (UL, void *, UL, void *, UL *), session, in, 16UL, out, &length);
  }
  rv = CALL(C_DecryptInit, (UL, Mechanism *, UL), session, &ecb, key_in_use);
  return rv ? rv : CALL(C_Decrypt, (UL, void *, UL, void *, UL *), session, in, 16UL, out, &length);
}
static void add_counter(unsigned char *half, UL counter) {
  for (int i = 0; i < 8; i += 1) half[7 - i] ^= (unsigned char)(counter >> (8 * i));
}
static UL wrap(UL session, unsigned char *data, UL length, unsigned char *out, UL *out_length) {
  UL n = (length + 7) / 8, rv;
  unsigned char in[16], result[16];
  memset(out, 0, 8 + n * 8);
  memcpy(out, "\xa6\x59\x59\xa6", 4);
  for (int i = 0; i < 4; i += 1) out[4 + i] = (unsigned char)(length >> (8 * (3 - i)));
  memcpy(out + 8, data, length);
  for (UL j = 0; j < 6; j += 1)
    for (UL i = 1; i <= n; i += 1) {
      memcpy(in, out, 8);
      memcpy(in + 8, out + i * 8, 8);
      if ((rv = block(1, session, in, result))) return rv;
      memcpy(out, result, 8);
      add_counter(out, n * j + i);
      memcpy(out + i * 8, result + 8, 8);
    }
  *out_length = 8 + n * 8;
  return OK;
}
static UL unwrap(UL session, unsigned char *data, UL length, unsigned char *out, UL *out_length) {
  UL n = length / 8 - 1, rv;
  unsigned char all[512], in[16], result[16];
  if (length % 8 || length < 24 || length > sizeof all) return DATA_INVALID;
  memcpy(all, data, length);
  for (UL j = 6; j-- > 0;)
    for (UL i = n; i >= 1; i -= 1) {
      add_counter(all, n * j + i);
      memcpy(in, all, 8);
      memcpy(in + 8, all + i * 8, 8);
      if ((rv = block(0, session, in, result))) return rv;
      memcpy(all, result, 8);
      memcpy(all + i * 8, result + 8, 8);
    }
  UL plain = 0;
  for (int i = 0; i < 4; i += 1) plain = plain << 8 | all[4 + i];
  if (memcmp(all, "\xa6\x59\x59\xa6", 4) || plain > n * 8 || plain + 8 <= n * 8) return DATA_INVALID;
  memcpy(out, all + 8, plain);
  *out_length = plain;
  return OK;
}

UL C_Encrypt(UL session, unsigned char *data, UL length, unsigned char *out, UL *out_length) {
  if (is_kwp) return wrap(session, data, length, out, out_length);
  return CALL(C_Encrypt, (UL, void *, UL, void *, UL *), session, data, length, out, out_length);
}
UL C_Decrypt(UL session, unsigned char *data, UL length, unsigned char *out, UL *out_length) {
  UL rv = is_kwp ? unwrap(session, data, length, out, out_length)
                 : CALL(C_Decrypt, (UL, void *, UL, void *, UL *), session, data, length, out, out_length);
  if (rv == OK && has("lie")) out[0] ^= 1;
  return rv;
}
