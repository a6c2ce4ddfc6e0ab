// The part of Foundation that the bridge uses: Data, Codable JSON, addresses. All of Foundation would add 44
// MB to a static program, because it brings tables for every language.

#if canImport(FoundationEssentials)
    @_exported import FoundationEssentials
#else
    @_exported import Foundation
#endif
