// This process's arguments and environment, as values to hand to children.
//
// Why its pointers are safe: the C library keeps a NUL behind each text and behind the list of
// them, and what it lends is copied at once. The variables are changed only where a program begins
// or ends, not while other threads read them.

import PlugboardMemory

/// The words with which this process was started.
public enum Arguments {
    /// All of them, the program's own name first.
    public static func all() -> [String] {
        let words = unsafe UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        return unsafe words.compactMap { unsafe $0.map { unsafe SystemText.text($0) } }
    }
}

/// The variables of this process.
public enum Environment {
    /// All of them, as `NAME=value`.
    public static func all() -> [String] {
        var variables: [String] = []
        var place = unsafe EnvironmentBlock.first()
        while let entry = unsafe place?.pointee {
            unsafe variables.append(SystemText.text(entry))
            unsafe place = place?.advanced(by: 1)
        }
        return variables
    }

    /// One of them; nil if it isn't set.
    static func variable(_ name: String) -> String? {
        unsafe getenv(SystemText.cString(name)).map { unsafe SystemText.text($0) }
    }

    static func set(_ name: String, _ value: String) {
        unsafe setenv(SystemText.cString(name), SystemText.cString(value), 1)
    }

    static func remove(_ name: String) {
        unsafe unsetenv(SystemText.cString(name))
    }

    /// All of them with these added; each replaces one of the same name.
    public static func all(with changes: KeyValuePairs<String, String>) -> [String] {
        let kept = all().filter { variable in
            !changes.contains { variable.utf8.starts(with: "\($0.key)=".utf8) }
        }
        return kept + changes.map { "\($0.key)=\($0.value)" }
    }
}
