-- The database of an installation in production. Run as a superuser, once:
--   psql -f database.sql "postgres://postgres@db.example.com/postgres"
-- Then set both passwords with \password.

-- Owns the tables: for `cofre init` only.
CREATE ROLE cofre_owner LOGIN;
-- The login of the servers: it has nothing but the four roles below.
CREATE ROLE cofre_app LOGIN NOINHERIT;

CREATE ROLE cofre_gateway NOLOGIN;
CREATE ROLE cofre_vault NOLOGIN;
CREATE ROLE cofre_jobs NOLOGIN;
CREATE ROLE cofre_people NOLOGIN;
-- For reports: read-only, without cards.
CREATE ROLE cofre_reader NOLOGIN;
GRANT cofre_gateway, cofre_vault, cofre_jobs, cofre_people TO cofre_app;
GRANT cofre_gateway, cofre_vault, cofre_jobs, cofre_people, cofre_reader TO cofre_owner;

-- Parameters of statements are sealed cards and customers' data: they are not logged.
ALTER ROLE cofre_owner SET log_parameter_max_length = 0;
ALTER ROLE cofre_owner SET log_parameter_max_length_on_error = 0;
ALTER ROLE cofre_app SET log_parameter_max_length = 0;
ALTER ROLE cofre_app SET log_parameter_max_length_on_error = 0;

CREATE DATABASE cofre OWNER cofre_owner ENCODING 'UTF8' TEMPLATE template0;
