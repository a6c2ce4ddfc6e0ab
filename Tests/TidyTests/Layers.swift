// Which module may import which. The package manager enforces it between the targets; here
// it also holds for what the system brings, and for additions to the manifest.

enum Layers {
    /// What a folder's files may import.
    struct Layer: CustomStringConvertible {
        let folder: String
        let allowed: Set<String>
        var description: String { folder }
    }

    private static let system: Set<String> = ["Glibc", "Musl", "Darwin"]

    /// The files of the safe modules that say `unsafe`, beside those of `PlugboardMemory`, which is
    /// there for that. Each argues at its top why it may.
    static let unsafeFiles: Set<String> = [
        "Sources/PlugboardWire/JSON/JSONScanner.swift",
        "Sources/PlugboardWire/JSON/JSONScanner+Strings.swift",
    ]

    /// From the bottom up. Foundation costs every program its start-up time, so it is only
    /// where Codable needs it, and in plugins that choose it.
    static let all: [Layer] = [
        Layer(folder: "Sources/Observables", allowed: system.union(["Synchronization", "Dispatch"])),
        Layer(folder: "Sources/PlugboardMemory", allowed: system),
        Layer(folder: "Sources/PlugboardWire", allowed: system.union(["PlugboardMemory"])),
        Layer(folder: "Sources/CPlatform", allowed: []),
        Layer(
            folder: "Sources/PlugboardPosix",
            allowed: system.union(["CPlatform", "PlugboardMemory", "Synchronization"])
        ),
        Layer(
            folder: "Sources/PlugboardJournal",
            allowed: ["PlugboardMemory", "PlugboardWire", "PlugboardPosix", "Synchronization"]
        ),
        Layer(
            folder: "Sources/PlugboardBroker",
            allowed: ["PlugboardMemory", "PlugboardJournal", "PlugboardWire", "PlugboardPosix"]
        ),
        Layer(
            folder: "Sources/PlugboardClient",
            allowed: [
                "Observables", "PlugboardMemory", "PlugboardWire", "PlugboardPosix", "Synchronization",
                "Foundation", "FoundationEssentials",
            ]
        ),
        Layer(
            folder: "Sources/plugboard-bench",
            allowed: ["PlugboardMemory", "PlugboardBroker", "PlugboardWire", "PlugboardPosix"]
        ),
        Layer(
            folder: "Sources/plugboard",
            allowed: [
                "PlugboardMemory", "PlugboardBroker", "PlugboardJournal", "PlugboardWire", "PlugboardPosix",
            ]
        ),
        Layer(
            folder: "plugins",
            allowed: system.union([
                "PlugboardClient", "Observables", "Synchronization", "Foundation", "FoundationEssentials",
            ])
        ),
    ]
}
