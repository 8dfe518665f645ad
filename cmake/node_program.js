// Before a program of WebAssembly that Node.js runs: its environment is the system's, as its files are.
Module["preRun"] = () => Object.assign(ENV, process.env);
