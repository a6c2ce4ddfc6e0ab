// swift-tools-version: 6.2
import PackageDescription

/// A package of its own, so that it measures what people get who depend on the project, without special flags.
let package = Package(
    name: "bench-observables",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "plugboard", path: "../..")],
    targets: [
        .executableTarget(
            name: "bench-observables",
            dependencies: [.product(name: "Observables", package: "plugboard")]
        )
    ]
)
