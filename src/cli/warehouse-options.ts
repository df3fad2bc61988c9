import type { Command } from 'commander';
import { readSecret, type Environment } from '../config/environment.ts';
import { usageError } from '../core/errors.ts';
import { warehousePlace, type WarehousePlace } from '../load/address.ts';

/** Adds the option that names the schema of a warehouse. */
export function addSchemaOption(command: Command): Command {
  return command.option(
    '--schema <name>',
    'the schema (in ClickHouse the database) of the tables in the warehouse',
    'mirror',
  );
}

/** The warehouse that the command line names, with its password from the environment. Throws `usage` where one of both is wrong. */
export function givenWarehouse(address: string, schema: string, environment: Environment): WarehousePlace {
  const problems: string[] = [];
  const password = readSecret(environment, 'MIRROR_WAREHOUSE_PASSWORD', 'password', problems);
  const [problem] = problems;
  if (problem !== undefined)
    throw usageError(problem, 'set MIRROR_WAREHOUSE_PASSWORD or MIRROR_WAREHOUSE_PASSWORD_FILE');
  return warehousePlace(address, schema, password);
}
