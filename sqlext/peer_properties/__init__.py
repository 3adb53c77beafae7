"""Every table property of Iceberg, of Flink's Iceberg connector and of Paimon, and what comes of it here."""
