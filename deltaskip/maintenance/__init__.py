"""Operations on whole tables."""
