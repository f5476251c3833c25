"""Services of the operating system and the compiler: files, signals, compiled code."""
