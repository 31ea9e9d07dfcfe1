/**
 * Fictitious customer data that a country accepts, under the names of the wire. The documents are
 * published examples or have valid check digits.
 */
export interface ExampleCustomer {
  readonly name: string;
  readonly email: string;
  readonly document?: string;
  readonly zipcode?: string;
  readonly address?: string;
  readonly street_number?: string;
  readonly city?: string;
  readonly state?: string;
  readonly phone_number: string;
}

/** By country, ISO 3166-1 alpha-2, lower case: one for each in payment/countries.ts. */
export const exampleCustomers: Readonly<Record<string, ExampleCustomer>> = {
  br: {
    name: "Ana Lima",
    email: "ana.lima@example.com",
    document: "853.513.468-93",
    zipcode: "61919-230",
    address: "Rua E",
    street_number: "1040",
    city: "Maracanaú",
    state: "CE",
    phone_number: "+55 85 2284-7035",
  },
  mx: {
    name: "Lucía Hernández",
    email: "lucia.hernandez@example.com",
    zipcode: "06600",
    address: "Avenida Chapultepec",
    street_number: "480",
    city: "Ciudad de México",
    state: "CMX",
    phone_number: "+52 55 5555 0101",
  },
  co: {
    name: "Juliana Rojas",
    email: "juliana.rojas@example.com",
    document: "1078578409",
    zipcode: "050021",
    address: "Calle 10",
    street_number: "43-25",
    city: "Medellín",
    state: "Antioquia",
    phone_number: "+57 300 555 0101",
  },
  ar: {
    name: "Martina Sosa",
    email: "martina.sosa@example.com",
    document: "23-33016244-9",
    zipcode: "C1043",
    address: "Avenida Corrientes",
    street_number: "1250",
    city: "Buenos Aires",
    state: "Buenos Aires",
    phone_number: "+54 11 5555-0101",
  },
  cl: {
    name: "Camila Muñoz",
    email: "camila.munoz@example.com",
    document: "11.111.111-1",
    zipcode: "8320000",
    address: "Avenida Providencia",
    street_number: "1208",
    city: "Santiago",
    state: "Región Metropolitana",
    phone_number: "+56 2 5555 0101",
  },
  pe: {
    name: "Rosa Quispe",
    email: "rosa.quispe@example.com",
    document: "9882884-2",
    phone_number: "+51 987 654 321",
  },
  uy: {
    name: "Sofía Pereira",
    email: "sofia.pereira@example.com",
    document: "1.234.567-2",
    phone_number: "+598 2555 0101",
  },
  gt: {
    name: "Marta López",
    email: "marta.lopez@example.com",
    phone_number: "+502 5555 0101",
  },
  py: {
    name: "Liz Benítez",
    email: "liz.benitez@example.com",
    phone_number: "+595 21 555 0101",
  },
  ec: {
    name: "Gabriela Cedeño",
    email: "gabriela.cedeno@example.com",
    phone_number: "+593 2 555 0101",
  },
  bo: {
    name: "Paola Mamani",
    email: "paola.mamani@example.com",
    phone_number: "+591 2 555 0101",
  },
  cr: {
    name: "Andrea Vargas",
    email: "andrea.vargas@example.com",
    phone_number: "+506 5555 0101",
  },
  do: {
    name: "Yolanda Peralta",
    email: "yolanda.peralta@example.com",
    phone_number: "+1 809 555 0101",
  },
  pa: {
    name: "Carmen Batista",
    email: "carmen.batista@example.com",
    phone_number: "+507 555 0101",
  },
  sv: {
    name: "Elena Portillo",
    email: "elena.portillo@example.com",
    phone_number: "+503 5555 0101",
  },
};
