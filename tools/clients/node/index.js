// SPDX-License-Identifier: MIT
export {PsupError} from './src/error.js';
export {Psup} from './src/psup.js';
export {createExecTool, createProcessTool, schema} from './src/tools.js';
