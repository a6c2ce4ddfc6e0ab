// swift-tools-version: 6.2
import PackageDescription

/// One setting for every target: Swift 6 language mode comes with the tools version, a warning is an error
/// for everyone, not only in CI, and every unsafe construct must be marked.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableExperimentalFeature("Lifetimes"), .strictMemorySafety(),
]

/// The programs that `plugboard up` starts. Each is a folder of `plugins/`.
let plugins = [
    "cart", "price-indicator", "review-banner", "logger", "review-tracker", "dashboard", "bridge",
]

/// The plugins that `plugboard` holds, so that packages need only one program. So each of these is a library, and
/// its program is one line in the folder `program`. All other plugins are programs and nothing else.
let libraries = [
    "cart": "CartPlugin", "price-indicator": "PriceIndicatorPlugin", "review-banner": "ReviewBannerPlugin",
    "logger": "LoggerPlugin", "review-tracker": "ReviewTrackerPlugin", "dashboard": "DashboardPlugin",
    "bridge": "BridgePlugin",
]

/// What they use beside the client library: for files, for the time, and for sockets of their own.
let furtherModules: [String: [Target.Dependency]] = [
    "dashboard": ["PlugboardMemory", "PlugboardPosix", "PlugboardWire"],
    "logger": ["PlugboardMemory", "PlugboardPosix", "PlugboardWire"],
    "review-tracker": ["PlugboardMemory", "PlugboardPosix"],
    "bridge": ["PlugboardMemory", "PlugboardPosix", "PlugboardWire"],
]

/// What lies in their folders beside sources.
let furtherFiles = ["review-tracker": ["demo"], "bridge": ["README.md"]]

/// Files that are part of their programs.
let embeddedFiles: [String: [Resource]] = ["dashboard": [.embedInCode("page")]]

/// A plugin's targets: its library, if it has one, and its program.
func targets(ofPlugin name: String) -> [Target] {
    let path = "plugins/\(name)"
    let modules: [Target.Dependency] = ["PlugboardClient"] + (furtherModules[name] ?? [])
    let others = ["plugin.json"] + (furtherFiles[name] ?? [])
    guard let library = libraries[name] else {
        return [
            .executableTarget(
                name: name,
                dependencies: modules,
                path: path,
                exclude: others,
                swiftSettings: strict
            )
        ]
    }
    return [
        .target(
            name: library,
            dependencies: modules,
            path: path,
            exclude: others + ["program"],
            resources: embeddedFiles[name],
            swiftSettings: strict
        ),
        .executableTarget(
            name: name,
            dependencies: [.target(name: library)],
            path: "\(path)/program",
            swiftSettings: strict
        ),
    ]
}

let allLibraries = libraries.values.sorted().map { Target.Dependency.target(name: $0) }
let allPrograms = plugins.map { Target.Dependency.target(name: $0) }

let package = Package(
    name: "plugboard",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Observables", targets: ["Observables"]),
        .library(name: "PlugboardClient", targets: ["PlugboardClient"]),
        .executable(name: "plugboard", targets: ["plugboard"]),
    ],
    dependencies: [],
    targets: [
        .target(name: "Observables", swiftSettings: strict),
        .target(name: "PlugboardMemory", dependencies: ["CPlatform"], swiftSettings: strict),
        .target(name: "PlugboardWire", dependencies: ["PlugboardMemory"], swiftSettings: strict),
        .systemLibrary(name: "CPlatform"),
        .target(
            name: "PlugboardPosix",
            dependencies: ["CPlatform", "PlugboardMemory"],
            swiftSettings: strict
        ),
        .target(
            name: "PlugboardJournal",
            dependencies: ["PlugboardMemory", "PlugboardWire", "PlugboardPosix"],
            swiftSettings: strict
        ),
        .target(
            name: "PlugboardBroker",
            dependencies: ["PlugboardMemory", "PlugboardJournal", "PlugboardWire", "PlugboardPosix"],
            swiftSettings: strict
        ),
        .target(
            name: "PlugboardClient",
            dependencies: ["PlugboardMemory", "Observables", "PlugboardWire", "PlugboardPosix"],
            // Its async calls stay on their caller's actor, because they wait elsewhere.
            swiftSettings: strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        ),
        // The command runs it but doesn't depend on it, so that building the bus doesn't build the bench.
        .executableTarget(
            name: "plugboard-bench",
            dependencies: ["PlugboardMemory", "PlugboardBroker", "PlugboardWire", "PlugboardPosix"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "plugboard",
            // Only its plugins need the client library. Commands pass values on as bytes and need no Codable.
            dependencies: [
                "PlugboardMemory", "PlugboardBroker", "PlugboardJournal", "PlugboardWire", "PlugboardPosix",
            ]
                + allLibraries + allPrograms,
            swiftSettings: strict
        ),
    ]
        + plugins.flatMap(targets(ofPlugin:))
        + [
            // A target of tests, so that only a build of the tests has it.
            .testTarget(
                name: "TestSupport",
                dependencies: [
                    "PlugboardMemory", "PlugboardBroker", "PlugboardJournal", "PlugboardWire",
                    "PlugboardPosix",
                ],
                path: "Tests/TestSupport",
                swiftSettings: strict
            ),
            .testTarget(name: "ObservablesTests", dependencies: ["Observables"], swiftSettings: strict),
            // The same file twice: in a module whose code is on the main actor by default, and in one without.
            .testTarget(
                name: "MainActorTests",
                dependencies: ["PlugboardClient"],
                path: "Tests/IsolationTests/MainActor",
                swiftSettings: strict + [.defaultIsolation(MainActor.self)]
            ),
            .testTarget(
                name: "NonisolatedTests",
                dependencies: ["PlugboardClient"],
                path: "Tests/IsolationTests/Nonisolated",
                swiftSettings: strict
            ),
            .testTarget(
                name: "PlugboardWireTests",
                dependencies: ["PlugboardMemory", "PlugboardWire", "TestSupport"],
                swiftSettings: strict
            ),
            .testTarget(
                name: "PlugboardPosixTests",
                dependencies: ["PlugboardPosix", "TestSupport"],
                swiftSettings: strict
            ),
            .testTarget(
                name: "PlugboardJournalTests",
                dependencies: [
                    "PlugboardMemory", "PlugboardJournal", "PlugboardWire", "PlugboardPosix", "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "PlugboardBrokerTests",
                dependencies: [
                    "PlugboardMemory", "PlugboardBroker", "PlugboardJournal", "PlugboardWire",
                    "PlugboardPosix", "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "PlugboardClientTests",
                dependencies: [
                    "PlugboardMemory", "PlugboardClient", "PlugboardBroker", "PlugboardPosix",
                    "PlugboardWire", "Observables", "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "ProtocolTests",
                dependencies: [
                    "PlugboardMemory", "PlugboardBroker", "PlugboardBrokerTests", "PlugboardWire",
                    "PlugboardPosix", "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "PluginTests",
                dependencies: [
                    "PlugboardBroker", "PlugboardClient", "PlugboardMemory", "PlugboardPosix", "TestSupport",
                ] + allLibraries + allPrograms,
                swiftSettings: strict
            ),
            .testTarget(
                name: "BridgeTests",
                dependencies: [
                    "BridgePlugin", "bridge", "plugboard", "PlugboardBroker", "PlugboardClient",
                    "PlugboardPosix",
                    "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "BenchTests",
                dependencies: [
                    "plugboard-bench", "plugboard", "PlugboardMemory", "PlugboardPosix", "PlugboardWire",
                    "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "CommandTests",
                dependencies: [
                    "plugboard", "plugboard-bench", "PlugboardWire", "PlugboardPosix", "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "ReadmeTests",
                dependencies: [
                    "plugboard", "PlugboardClient", "PlugboardPosix",
                    "Observables", "TestSupport",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "FuzzTests",
                dependencies: [
                    "PlugboardMemory", "PlugboardBroker", "PlugboardJournal", "PlugboardWire",
                    "PlugboardPosix", "TestSupport",
                ],
                exclude: ["Corpus"],
                swiftSettings: strict
            ),
            .testTarget(name: "TidyTests", swiftSettings: strict),
        ]
)
