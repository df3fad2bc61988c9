import { hostileStores } from './hostile-store-suite.ts';

// One kind that could take all memory, and one that is wrong in content. The slow set has the others.
hostileStores(['endless body', 'old bytes']);
