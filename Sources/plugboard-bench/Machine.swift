// The machine on which a measurement was made, and the releases of the systems. Without them, figures
// mean little. Nothing here is measured: it is what the system says.

import PlugboardPosix
import PlugboardWire

/// The machine and this program, as far as the system says.
struct Machine: Sendable {
    /// The processor's name.
    let processor: String
    let processors: Int
    /// The kernel's name and release.
    let kernel: String
    /// The Swift release that this program was built with.
    let swift: String
    /// Whether the program loads Swift's library at its start instead of containing it.
    let isDynamic: Bool
    /// The mean number of programs that wanted to run in the minute before the bench; nil if unknown.
    let load: Double?

    static func current() -> Machine {
        let cpus = lines(of: "/proc/cpuinfo")
        return Machine(
            processor: value(of: "model name", in: cpus) ?? "unknown processor",
            processors: max(1, cpus.count { $0.hasPrefix("processor") }),
            kernel: [lines(of: "/proc/sys/kernel/ostype"), lines(of: "/proc/sys/kernel/osrelease")]
                .compactMap(\.first).joined(separator: " "),
            swift: Toolchain.version,
            isDynamic: hasLoaded("libswiftCore", process: "self"),
            load: lines(of: "/proc/loadavg").first?.split(separator: " ").first.flatMap { Double($0) }
        )
    }

    /// Whether a process has loaded a library. `process` is its number or `self`.
    static func hasLoaded(_ library: String, process: String) -> Bool {
        lines(of: "/proc/\(process)/maps").contains { $0.contains(library) }
    }

    /// One line for a person.
    var text: String {
        let cores = "\(processors) core\(processors == 1 ? "" : "s")"
        let swift = "Swift \(swift), its library \(isDynamic ? "loaded" : "linked in")"
        let load = load.map { "load \(Digits.fixed($0, 2)) before it began" } ?? ""
        return [processor, cores, kernel, swift, load].filter { !$0.isEmpty }.joined(separator: "; ")
    }

    private static let fileBytesMax = 4_194_304

    /// The lines of a file; none if it doesn't exist.
    private static func lines(of path: String) -> [String] {
        let bytes = (try? InputFile.contents(path: path, limit: fileBytesMax)) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The text after `name :`, in the first line that begins with `name`.
    private static func value(of name: String, in lines: [String]) -> String? {
        let line = lines.first { $0.hasPrefix(name) }
        let value = line?.split(separator: ":", maxSplits: 1).dropFirst().first
        return value.map { String($0.drop { $0 == " " || $0 == "\t" }) }
    }
}

/// A server of the bench and its release.
struct SystemVersion: Sendable {
    let server: String
    /// Nil if it isn't installed.
    let version: String?

    /// Asks the program for its version.
    static func of(_ dialect: any Dialect, programs: Programs) throws -> SystemVersion {
        guard let name = dialect.programName else {
            return SystemVersion(server: dialect.server, version: ProtocolVersion.software)
        }
        let said = try Programs.find(name).map { try programs.output(of: $0, [dialect.versionOption]) }
        return SystemVersion(server: dialect.server, version: said.map { number(in: $0) ?? "unknown" })
    }

    /// The first number with a dot, such as `7.0.15`; nil if there is none.
    static func number(in text: String) -> String? {
        let parts = text.split { !($0.isNumber && $0.isASCII) && $0 != "." }
        return parts.first { $0.contains(".") && $0.first != "." && $0.last != "." }.map(String.init)
    }
}
