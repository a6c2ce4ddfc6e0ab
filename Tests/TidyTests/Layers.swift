// Which module may import which. The package manager enforces that between targets. These
// rules also hold for the system's modules, and for additions to the manifest.

enum Layers {
    /// What the files of a folder may import.
    struct Layer: CustomStringConvertible {
        let folder: String
        let allowed: Set<String>
        var description: String { folder }
    }

    private static let system: Set<String> = ["Glibc", "Musl", "Darwin"]

    /// The libraries of the plugins, of which each has its own `main.swift`, and `plugboard` all.
    static let plugins: Set<String> = [
        "BridgePlugin", "CartPlugin", "DashboardPlugin", "LoggerPlugin", "PriceIndicatorPlugin",
        "ReviewBannerPlugin", "ReviewTrackerPlugin",
    ]

    /// The modules that exist for raw memory and for calls of the C library, and how many of their
    /// files may say `unsafe`: no more than do. Each says at its top why it may.
    static let unsafeFilesMax = ["Sources/PlugboardMemory": 6, "Sources/PlugboardPosix": 28]

    /// How many functions of a folder take more than four parameters, and how many change three or more of
    /// them. These numbers may only be lowered.
    static let wideFunctionsMax = ["Sources/PlugboardBroker": (wide: 20, changing: 3)]

    /// The other files that say `unsafe`.
    static let unsafeFiles: Set<String> = [
        "Sources/Observables/StandardError.swift",
        "Sources/Observables/SystemThread+Darwin.swift",
        "Sources/Observables/SystemThread+Linux.swift",
        "Sources/PlugboardWire/JSON/JSONScanner.swift",
        "Sources/PlugboardWire/JSON/JSONScanner+Strings.swift",
        "plugins/bridge/CurlTransfer+Linux.swift",
    ]

    /// The tests that say `unsafe`, or use addresses.
    static let unsafeTests: Set<String> = [
        "Tests/Fuzzing/Entry.swift",
        "Tests/ObservablesTests/InPlaceTests.swift",
        "Tests/PlugboardBrokerTests/TestBroker.swift",
        "Tests/TestSupport/JSONNode.swift",
        "Tests/TestSupport/LargeTexts.swift",
        "Tests/TestSupport/LentBytes.swift",
        "Tests/TestSupport/OwnThreads.swift",
        "Tests/TestSupport/SimulatedDisk.swift",
        "Tests/TestSupport/SystemCalls.swift",
        "Tests/TestSupport/TestTerminal.swift",
    ]

    /// All layers, from the bottom up. Foundation makes every program start more slowly, so only modules
    /// that need it for Codable may import it, and plugins that choose to.
    static let all: [Layer] = [
        Layer(
            folder: "Sources/Observables",
            allowed: system.union(["Synchronization", "Dispatch", "Observation"])
        ),
        Layer(folder: "Sources/PlugboardMemory", allowed: system.union(["CPlatform", "Synchronization"])),
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
                "Observation", "SwiftUI", "Foundation", "FoundationEssentials",
            ]
        ),
        Layer(
            folder: "Sources/plugboard-bench",
            allowed: ["PlugboardMemory", "PlugboardBroker", "PlugboardWire", "PlugboardPosix"]
        ),
        Layer(
            folder: "Sources/plugboard",
            allowed: plugins.union([
                "PlugboardMemory", "PlugboardBroker", "PlugboardJournal", "PlugboardWire", "PlugboardPosix",
            ])
        ),
        Layer(
            folder: "plugins",
            allowed: system.union(plugins).union([
                "PlugboardClient", "PlugboardMemory", "PlugboardWire", "PlugboardPosix", "Observables",
                "Synchronization", "Dispatch", "Foundation", "FoundationEssentials",
            ])
        ),
    ]
}
