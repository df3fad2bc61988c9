import { testKit } from './erase-kit-suite.ts';
import { duckDbKit } from './kit-warehouses.ts';

testKit(duckDbKit);
