// Made from the server's tables: npm run docs. Do not edit.

import type { Country, CustomerFields } from "./types.ts";

/** A published test number for each decision of the simulated issuer. */
export const cardNumbers = {
  approved: "4111111111111111",
  insufficient_funds: "4716909774636285",
  invalid_card: "4000000000000002",
  expired_card: "6011088896715918",
  not_accepted: "378568775709157",
} as const;

/** A fictitious customer that each country accepts. */
export const customers: Readonly<Record<Country, CustomerFields>> = {
  br: {"name":"Ana Lima","email":"ana.lima@example.com","document":"853.513.468-93","zipcode":"61919-230","address":"Rua E","streetNumber":"1040","city":"Maracanaú","state":"CE","phoneNumber":"+55 85 2284-7035"},
  mx: {"name":"Lucía Hernández","email":"lucia.hernandez@example.com","zipcode":"06600","address":"Avenida Chapultepec","streetNumber":"480","city":"Ciudad de México","state":"CMX","phoneNumber":"+52 55 5555 0101"},
  co: {"name":"Juliana Rojas","email":"juliana.rojas@example.com","document":"1078578409","zipcode":"050021","address":"Calle 10","streetNumber":"43-25","city":"Medellín","state":"Antioquia","phoneNumber":"+57 300 555 0101"},
  ar: {"name":"Martina Sosa","email":"martina.sosa@example.com","document":"23-33016244-9","zipcode":"C1043","address":"Avenida Corrientes","streetNumber":"1250","city":"Buenos Aires","state":"Buenos Aires","phoneNumber":"+54 11 5555-0101"},
  cl: {"name":"Camila Muñoz","email":"camila.munoz@example.com","document":"11.111.111-1","zipcode":"8320000","address":"Avenida Providencia","streetNumber":"1208","city":"Santiago","state":"Región Metropolitana","phoneNumber":"+56 2 5555 0101"},
  pe: {"name":"Rosa Quispe","email":"rosa.quispe@example.com","document":"9882884-2","phoneNumber":"+51 987 654 321"},
  uy: {"name":"Sofía Pereira","email":"sofia.pereira@example.com","document":"1.234.567-2","phoneNumber":"+598 2555 0101"},
  gt: {"name":"Marta López","email":"marta.lopez@example.com","phoneNumber":"+502 5555 0101"},
  py: {"name":"Liz Benítez","email":"liz.benitez@example.com","phoneNumber":"+595 21 555 0101"},
  ec: {"name":"Gabriela Cedeño","email":"gabriela.cedeno@example.com","phoneNumber":"+593 2 555 0101"},
  bo: {"name":"Paola Mamani","email":"paola.mamani@example.com","phoneNumber":"+591 2 555 0101"},
  cr: {"name":"Andrea Vargas","email":"andrea.vargas@example.com","phoneNumber":"+506 5555 0101"},
  do: {"name":"Yolanda Peralta","email":"yolanda.peralta@example.com","phoneNumber":"+1 809 555 0101"},
  pa: {"name":"Carmen Batista","email":"carmen.batista@example.com","phoneNumber":"+507 555 0101"},
  sv: {"name":"Elena Portillo","email":"elena.portillo@example.com","phoneNumber":"+503 5555 0101"},
};

/** The currency of each country, ISO 4217. */
export const currencies: Readonly<Record<Country, string>> = {
  br: "BRL",
  mx: "MXN",
  co: "COP",
  ar: "ARS",
  cl: "CLP",
  pe: "PEN",
  uy: "UYU",
  gt: "GTQ",
  py: "PYG",
  ec: "USD",
  bo: "BOB",
  cr: "CRC",
  do: "DOP",
  pa: "PAB",
  sv: "USD",
};
